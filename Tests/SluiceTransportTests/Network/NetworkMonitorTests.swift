import Dispatch
import Glibc
import Synchronization
import Testing

@testable import SluiceTransport

/// How changes of the machine's addresses and routes are noticed (row S30).
struct NetworkMonitorTests {
    /// The bytes of netlink messages of these types, each with a little content.
    private func messages(_ types: [UInt16]) -> [UInt8] {
        types.flatMap { type -> [UInt8] in
            let header: [UInt32] = [21, UInt32(type), 0, 0]
            return header.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
                + [1, 2, 3, 4, 5, 0, 0, 0]
        }
    }

    @Test(
        arguments: [
            ([20], true), ([21], true), ([24], true), ([25], true), ([16], false), ([28, 16], false), ([16, 24], true),
            ([], false),
        ] as [([UInt16], Bool)])
    func messagesAboutAddressesAndRoutesAreChanges(types: [UInt16], isChange: Bool) {
        messages(types).withUnsafeBytes { #expect(NetlinkSocket.hasChange($0) == isChange) }
    }

    @Test func messagesThatAreCutOffAreRead() {
        let all = messages([16, 24])
        for count in 0..<all.count {
            all[..<count].withUnsafeBytes { bytes in
                #expect(NetlinkSocket.hasChange(bytes) == (count >= 40))
            }
        }
        let wrong: [UInt8] = Array(repeating: 0, count: 64)
        wrong.withUnsafeBytes { #expect(!NetlinkSocket.hasChange($0)) }
    }

    @Test func theMachineHasBeenSuspendedForNoNegativeTime() {
        let time = SuspensionClock.suspendedTime
        #expect(time > .milliseconds(-1))
        #expect(SuspensionClock.suspendedTime - time < .seconds(1))
    }

    @Test(
        .enabled(if: NetworkNamespace.isAvailable, "this machine does not let a test make a network namespace"),
        .timeLimit(.minutes(5)))
    func aNewAddressIsToldOnceToAllWhoWatchAndToNobodyElse() async throws {
        let namespace = try #require(NetworkNamespace())
        let loop = try EventLoop()
        let monitor = NetworkMonitor(namespace.socket, loop: loop)
        let (changes, continuation) = AsyncStream<Int>.makeStream()
        var first: (any Sendable)? = monitor.watch { continuation.yield(1) }
        let second = monitor.watch { continuation.yield(2) }
        namespace.setLoopback(up: true)
        var iterator = changes.makeAsyncIterator()
        let told = [await iterator.next(), await iterator.next()]
        #expect(Set(told) == [1, 2])
        _ = first
        first = nil
        namespace.setLoopback(up: false)
        #expect(await iterator.next() == 2)
        withExtendedLifetime(second) {}
        namespace.end()
        loop.stop()
    }
}

/// A network of its own, for one thread that changes it.
final class NetworkNamespace: @unchecked Sendable {
    /// Whether this process may make one.
    static let isAvailable = NetworkNamespace().map { $0.end() } != nil

    private static let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET

    /// The module of the C library does not show it.
    private static let unshare: (@convention(c) (Int32) -> Int32)? = dlsym(nil, "unshare").map {
        unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self)
    }

    let socket: NetlinkSocket
    private let orders: Orders

    private final class Orders: Sendable {
        let next = Mutex<[Bool?]>([])
    }

    /// Nil where this process may not make one.
    init?() {
        let orders = Orders()
        final class Made: Sendable {
            let socket = Mutex<NetlinkSocket?>(nil)
        }
        let made = Made()
        let ready = DispatchSemaphore(value: 0)
        final class Start: @unchecked Sendable {
            let body: () -> Void
            init(_ body: @escaping () -> Void) { self.body = body }
        }
        let start = Start {
            if Self.unshare?(Self.newNetwork) == 0, let socket = try? NetlinkSocket() {
                made.socket.withLock { $0 = socket }
            }
            ready.signal()
            guard made.socket.withLock({ $0 }) != nil else { return }
            while true {
                let order = orders.next.withLock { $0.isEmpty ? .none : Optional($0.removeFirst()) }
                switch order {
                case .none: usleep(1_000)
                case .some(nil): return
                case .some(let isUp?): Self.setLoopback(isUp)
                }
            }
        }
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(start).toOpaque())
        pthread_detach(thread)
        ready.wait()
        guard let socket = made.socket.withLock({ $0 }) else { return nil }
        self.socket = socket
        self.orders = orders
    }

    /// Switches the only interface on, which gives it its addresses, or off.
    func setLoopback(up isUp: Bool) { orders.next.withLock { $0.append(isUp) } }

    /// Ends the thread.
    func end() { orders.next.withLock { $0.append(nil) } }

    private static func setLoopback(_ isUp: Bool) {
        // struct ifreq: a name of 16 bytes, and the flags.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<2, with: Array("lo".utf8))
        let flags: UInt16 = isUp ? 1 : 0
        request[16] = UInt8(flags)
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        _ = request.withUnsafeMutableBytes { ioctl(descriptor, 0x8914, $0.baseAddress!) }  // SIOCSIFFLAGS
    }
}
