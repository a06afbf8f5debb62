internal import Glibc

/// The program that has started this one and supervises it, such as systemd. It is told how the server is by datagrams
/// to the socket that `NOTIFY_SOCKET` names: sd_notify(3), "New-Style Daemons" of daemon(7).
struct ServiceManager: Sendable {
    enum News: Hashable, Sendable {
        /// The server serves; `status` says how, for people.
        case ready(status: String)
        /// Settings are being read again.
        case reloading
        /// The server stops, once it has served on for a while.
        case stopping(after: Duration)
        /// The server does its work.
        case watchdog
    }

    private let address: String
    /// How often the manager wants to hear that the server does its work; nil for never.
    let watchdogInterval: Duration?

    /// - Parameters:
    ///   - environment: the value of a variable; nil if it is missing or empty.
    ///   - processID: this process, since the variables of a manager may be inherited.
    /// - Returns: nil if no manager wants to be told.
    init?(environment: (String) -> String? = SecretSource.environment, processID: Int32 = getpid()) {
        guard let address = environment("NOTIFY_SOCKET"), address.hasPrefix("/") || address.hasPrefix("@") else {
            return nil
        }
        self.address = address
        let isMeant = environment("WATCHDOG_PID").map { $0 == "\(processID)" } ?? true
        watchdogInterval =
            if isMeant, let time = environment("WATCHDOG_USEC").flatMap({ Int64($0) }), time > 0 {
                .microseconds(time)
            } else { nil }
    }

    /// Tells the manager. What cannot be delivered is lost: the server goes on without a manager.
    func notify(_ news: News) {
        switch news {
        case .ready(let status): send("READY=1\nSTATUS=\(DisplayText.harmless(status))")
        case .reloading: send("RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds)\nSTATUS=reading settings")
        case .stopping(let time):
            // Beyond that, as long as a stop usually takes at the longest.
            let wait = (time + .seconds(60)) / .microseconds(1)
            send("STOPPING=1\nEXTEND_TIMEOUT_USEC=\(Int64(wait))\nSTATUS=\(time > .zero ? "draining" : "stopping")")
        case .watchdog: send("WATCHDOG=1")
        }
    }

    private func send(_ text: String) {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        // An abstract name begins with a zero.
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else { return }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let isAbstract = bytes.first == 0
        let length = MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1)
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        _ = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL), address, socklen_t(length))
            }
        }
    }

    private static var monotonicMicroseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}
