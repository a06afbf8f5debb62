internal import Glibc

/// The three descriptors that every program expects to be open.
enum StandardStreams {
    /// Opens `/dev/null` in place of closed ones, so that no file or socket gets their numbers. It is opened in the
    /// wrong direction, so that reading standard input and writing the others still fail, as they should.
    static func holdClosed() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
