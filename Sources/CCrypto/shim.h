// libcrypto as Swift sees it. If this header is missing: apt-get install libssl-dev
#if __has_include(<openssl/evp.h>)
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#else
#error "easim needs libcrypto's headers: apt-get install libssl-dev"
#endif
