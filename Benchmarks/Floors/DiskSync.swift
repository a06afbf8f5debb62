import Glibc

/// Measures what it costs to make 4 KiB durable.
enum DiskSync {
    /// The time of each of many writes of 4 KiB in seconds, one after the other into a file that has its final length.
    static func samples(_ count: Int, path: String) throws -> [Double] {
        let size = 4096
        let slots = 64
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw BenchmarkError("\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        defer {
            close(descriptor)
            unlink(path)
        }
        let zeros = [UInt8](repeating: 0, count: size * slots)
        guard pwrite(descriptor, zeros, zeros.count, 0) == zeros.count, fsync(descriptor) == 0 else {
            throw BenchmarkError("\(path) cannot be filled")
        }
        let clock = ContinuousClock()
        return try (0..<count).map { number in
            let page = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
            let start = clock.now
            guard pwrite(descriptor, page, size, off_t(number % slots * size)) == size, fdatasync(descriptor) == 0
            else {
                throw BenchmarkError("\(path) cannot be synced")
            }
            return (clock.now - start) / .seconds(1)
        }
    }
}
