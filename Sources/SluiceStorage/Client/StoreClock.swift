package import SluiceModel
internal import Synchronization

/// What a store knows of the time of queries with `$now`. Its threads share one.
///
/// While a session with the server is current, the server moves the time: it names what its queries find. Otherwise the
/// store's own clock does, corrected by how far the server's was ahead when it was last asked.
package final class StoreClock: Sendable {
    private struct State {
        var offset: Int64 = 0
        var latest = Timestamp(microseconds: .min)
        var isOwn = true
    }

    private let state = Mutex(State())

    package init() {}

    /// The time of queries; never before a time that the server has named.
    ///
    /// - Parameter now: this machine's clock.
    package func time(at now: Timestamp) -> Timestamp {
        state.withLock { max(now.advanced(by: $0.offset), $0.latest) }
    }

    /// When this machine's clock has a value at which the time of queries is another.
    package func machineTime(of time: Timestamp) -> Timestamp {
        state.withLock { time.advanced(by: -$0.offset) }
    }

    /// Notes how far the server's clock is ahead of this machine's, in microseconds.
    package func note(offset: Int64) { state.withLock { $0.offset = offset } }

    /// Notes a time at which the server has accepted a version.
    package func note(_ time: Timestamp) { state.withLock { $0.latest = max($0.latest, time) } }

    /// Whether this store moves the time, and not a server.
    package var isOwn: Bool {
        get { state.withLock(\.isOwn) }
        set { state.withLock { $0.isOwn = newValue } }
    }
}
