// libcrypto as Swift sees it. If this header is missing: apt-get install libssl-dev. OpenSSL 3.0 deprecates every call
// that accepts a nonce for an ECDSA signature, and the replacement came only with 3.2. OpenSSL's own switch keeps the
// deprecated calls usable where warnings are errors.
#define OPENSSL_SUPPRESS_DEPRECATED
#if __has_include(<openssl/evp.h>)
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/cms.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#else
#error "easim needs libcrypto's headers: apt-get install libssl-dev"
#endif
