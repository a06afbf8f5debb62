internal import Glibc

/// The descriptors that every program expects to have.
enum StandardStreams {
    /// Takes the places of those that are closed, lest the next file or socket gets them. Reading and writing them goes on
    /// to fail, as it should.
    static func holdClosed() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
