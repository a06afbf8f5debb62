#include <openssl/crypto.h>

/*
 * OpenSSL frees all that it has when a process exits (OPENSSL_cleanup, registered with atexit(3)), while other threads
 * may still hash or encrypt: a program that calls exit() beside a running server or store would crash. It must be told
 * so before anything else initialises it, hence from a constructor. The system takes the memory back anyway.
 */
__attribute__((constructor)) static void keep_openssl_until_the_end(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
