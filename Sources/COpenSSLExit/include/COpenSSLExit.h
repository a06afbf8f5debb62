/* This target declares nothing: see openssl_exit.c. */
