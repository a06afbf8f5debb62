import Glibc
import TestSupport

extension ServerProcess {
    /// Finds a port that nobody listens at now. It lies below the range from which the system chooses ports, so the
    /// system gives it to nobody else.
    static func unusedPort() throws -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: 12_000...31_000)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            if RawPeer.withAddress(port: port, { bind(descriptor, $0, $1) }) == 0 { return port }
        }
        throw Failure("no unused port found")
    }
}
