#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// Hidden by <sys/socket.h> unless _GNU_SOURCE was defined before Glibc's module was built.
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);

// struct ucred of unix(7), hidden in the same way.
struct peer_credentials {
    pid_t process;
    uid_t user;
    gid_t group;
};
