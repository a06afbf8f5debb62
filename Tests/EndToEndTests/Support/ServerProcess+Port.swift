import Glibc
import TestSupport

extension ServerProcess {
    /// A port that nobody listens at now and that the system gives to nobody who takes any: below the range of those.
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
