// The minimum work for an authentication: one signature and its verification, using only libcrypto.
#include "BenchmarkFloors.h"
#include <openssl/evp.h>
#include <openssl/ec.h>
#include <string.h>

size_t floor_signatures(size_t count) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  uint8_t digest[32] = {1}, signature[80];
  size_t right = 0;
  for (size_t index = 0; key != NULL && index < count; index++) {
    memcpy(digest, &index, sizeof index);
    size_t length = sizeof signature;
    EVP_PKEY_CTX *signer = EVP_PKEY_CTX_new(key, NULL), *verifier = EVP_PKEY_CTX_new(key, NULL);
    if (EVP_PKEY_sign_init(signer) == 1 && EVP_PKEY_sign(signer, signature, &length, digest, sizeof digest) == 1 &&
        EVP_PKEY_verify_init(verifier) == 1 &&
        EVP_PKEY_verify(verifier, signature, length, digest, sizeof digest) == 1)
      right++;
    EVP_PKEY_CTX_free(signer);
    EVP_PKEY_CTX_free(verifier);
  }
  EVP_PKEY_free(key);
  return right;
}
