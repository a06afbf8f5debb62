import Glibc
import Synchronization

/// Spreads connections over several event loops.
package final class EventLoopGroup: Sendable {
    package let loops: [EventLoop]
    private let counter = Atomic<Int>(0)

    /// - Parameter loopCount: at least 1; by default one loop for each processor.
    package init(loopCount: Int = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))) throws(TransportError) {
        var loops: [EventLoop] = []
        for _ in 0..<max(1, loopCount) {
            do throws(TransportError) { loops.append(try EventLoop()) } catch {
                for loop in loops { loop.stop() }
                throw error
            }
        }
        self.loops = loops
    }

    /// The loop for the next connection, in rotation.
    package func next() -> EventLoop {
        loops[counter.wrappingAdd(1, ordering: .relaxed).oldValue % loops.count]
    }

    /// Stops all loops and waits for their threads.
    package func stop() {
        for loop in loops { loop.stop() }
    }
}
