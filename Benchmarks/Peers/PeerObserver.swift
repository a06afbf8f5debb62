import Foundation
import Synchronization

/// A thread that follows what a peer sends, and may fail.
final class PeerObserver: Sendable {
    /// A thread of which there are hundreds needs less than the usual stack.
    private static let stackSize = 512 << 10

    private let storedFailure = Mutex<(any Error)?>(nil)

    /// Why the thread has ended before its time; nil if it has not.
    var failure: (any Error)? { storedFailure.withLock { $0 } }

    /// Starts the thread.
    init(_ body: @escaping @Sendable () throws -> Void) {
        let thread = Thread { [self] in
            do { try body() } catch { storedFailure.withLock { $0 = error } }
        }
        thread.stackSize = Self.stackSize
        thread.start()
    }
}

extension Progress {
    /// Waits until `value` is reached, and says what has failed where it is not.
    ///
    /// - Returns: when it was reached.
    func wait(for value: Int, from observers: [PeerObserver]) async throws -> ContinuousClock.Instant {
        do {
            return try await wait(for: value)
        } catch {
            throw observers.lazy.compactMap(\.failure).first ?? error
        }
    }
}

/// Runs `body` on a thread of its own, since it blocks.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
