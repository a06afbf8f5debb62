#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// Hidden by <sys/socket.h> unless _GNU_SOURCE was defined before Glibc's module was built.
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
