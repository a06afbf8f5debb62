import CEpoll
import Glibc

/// An IP address and port, or the path of a socket of this machine.
struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private var length: socklen_t

    /// Makes room for an address that the kernel fills in.
    init() {
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    }

    private init(_ address: UnsafePointer<sockaddr>, _ length: socklen_t) {
        self.init()
        self.length = min(length, self.length)
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(self.length)))
        }
    }

    /// The address of a socket that is a file.
    ///
    /// - Returns: nil if the path is too long, which is after 107 bytes.
    init?(path: String) {
        self.init()
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count < MemoryLayout<sockaddr_un>.size - offset, !bytes.contains(0) else {
            return nil
        }
        storage.ss_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &storage) {
            UnsafeMutableRawBufferPointer(rebasing: $0[offset...]).copyBytes(from: bytes)
        }
        length = socklen_t(offset + bytes.count + 1)
    }

    var family: Int32 { Int32(storage.ss_family) }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    mutating func withMutablePointer<Result>(
        _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result
    ) -> Result {
        withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
    }

    var port: UInt16 {
        get {
            withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
        }
        set {
            // The port is at the same place in both families.
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: newValue.bigEndian, toByteOffset: 2, as: UInt16.self)
            }
        }
    }

    /// Whether only this machine reaches the address: 127.0.0.0/8 and ::1.
    var isLoopback: Bool {
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET: bytes[4] == 127
            // The address is after family, port and flow label.
            case AF_INET6: bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
            case AF_UNIX: true
            default: false
            }
        }
    }

    /// Identifies the peer for limits on each address.
    var key: AddressKey {
        if family == AF_UNIX { return AddressKey(text) }
        // The address is after family, port and, with IPv6, flow label.
        return withUnsafeBytes(of: storage) { AddressKey(family == AF_INET6 ? $0[8..<24] : $0[4..<8]) }
    }

    /// Host and port, such as "127.0.0.1:80" or "[::1]:80".
    var text: String {
        if family == AF_UNIX { return "this machine" }
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = withPointer { getnameinfo($0, $1, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) }
        guard result == 0 else { return "an unknown address" }
        let name = host.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return family == AF_INET6 ? "[\(name)]:\(port)" : "\(name):\(port)"
    }

    /// Looks a host up. Blocks unless `numericOnly`.
    ///
    /// - Parameters:
    ///   - host: a name or address; nil means every address of this machine.
    ///   - isListening: whether the addresses are for listening.
    static func resolve(
        _ host: String?, port: UInt16, isListening: Bool, numericOnly: Bool = false
    ) throws(TransportError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = (isListening ? AI_PASSIVE : 0) | (numericOnly ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        guard result == 0 else {
            let reason = result == EAI_NONAME ? "no such host" : String(cString: gai_strerror(result))
            throw TransportError(
                .nameResolutionFailed, "cannot find the address of \"\(host ?? "")\": \(reason)",
                outlook: result == EAI_AGAIN || !isListening ? .passing : .lasting)
        }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry {
            if let address = current.pointee.ai_addr {
                addresses.append(SocketAddress(address, current.pointee.ai_addrlen))
            }
            entry = current.pointee.ai_next
        }
        return addresses
    }
}
