import Dispatch
import Sluice
import SluiceModel
import SluiceTesting
import SluiceTransport
import SluiceWire
import Synchronization
import TestSupport
import Testing

#if SLUICE_MACROS
    /// What a store sees of the world: servers that can be reached or not, and a network that changes.
    final class ReconnectingWorld: Sendable {
        struct State {
            var attempts: [String] = []
            var reachable: Set<String> = []
            var suspended = Duration.zero
            var changed: (@Sendable () -> Void)?
            var watcherCount = 0
        }

        /// A connection that is never answered, and says when it is probed.
        final class Silent: MessageConnection {
            let id = ConnectionID(rawValue: 1)
            let peerDescription = "silent"
            var queuedBytes: Int { 0 }
            func send(_ message: SharedBuffer) {}
            func admit() {}
            func close(code: CloseCode, reason: String) {}
            func abort() {}
            func pauseReceiving(for reason: PauseReason) {}
            func resumeReceiving(after reason: PauseReason) {}
        }

        /// A server that hands the first session over, and is away afterwards.
        final class Mover: MessageConnection {
            let id = ConnectionID(rawValue: 1)
            let peerDescription = "mover"
            var queuedBytes: Int { 0 }
            private let url: String
            private let delegate: any MessageConnectionDelegate
            private let sentCount = Mutex(0)

            init(_ url: String, _ delegate: any MessageConnectionDelegate) {
                self.url = url
                self.delegate = delegate
            }

            func send(_ message: SharedBuffer) {
                let count = sentCount.withLock { count in
                    count += 1
                    return count
                }
                // The second frame asks to open the session.
                guard count == 2 else { return }
                let hello = ServerMessage.hello(
                    .init(
                        version: 1, features: .all, time: Timestamp(microseconds: 0), limits: ServerLimits(),
                        agent: "mover"))
                let moved = ServerMessage.moved(.init(session: 1, url: url))
                DispatchQueue.global().async { [self] in
                    for frame in [Frame.encode(hello), Frame.encode(moved)] {
                        frame.withUnsafeBytes { delegate.connection(self, didReceive: $0) }
                    }
                }
            }

            func admit() {}
            func close(code: CloseCode, reason: String) {}
            func abort() {}
            func pauseReceiving(for reason: PauseReason) {}
            func resumeReceiving(after reason: PauseReason) {}
        }

        final class Watch: Sendable {
            private let world: ReconnectingWorld
            init(_ world: ReconnectingWorld) { self.world = world }
            deinit { world.state.withLock { $0.watcherCount -= 1 } }
        }

        let state = Mutex(State())
        let clock = ManualClock()

        var attempts: [String] { state.withLock { $0.attempts } }

        func open(
            _ urls: [String], movingTo other: String? = nil,
            _ configure: (inout SyncConfiguration) -> Void = { _ in }
        ) async throws -> Store {
            var sync = SyncConfiguration(urls: urls)
            configure(&sync)
            var configuration = StoreConfiguration(models: lifecycleModels, sync: sync)
            configuration.environment.now = { [clock] in clock.timestamp }
            configuration.environment.random = { 1 }
            configuration.environment.schedule = { [clock] delay, body in clock.schedule(after: delay, body) }
            configuration.environment.scheduleUpkeep = { [clock] delay, body in
                clock.schedule(after: delay, isUpkeep: true, body)
            }
            configuration.environment.suspendedTime = { self.state.withLock { $0.suspended } }
            configuration.environment.watchNetwork = { changed in
                self.state.withLock { state in
                    state.changed = changed
                    state.watcherCount += 1
                }
                return Watch(self)
            }
            configuration.environment.connect = { endpoint, delegate in
                let isFirst = self.state.withLock { $0.attempts.isEmpty }
                if let other, isFirst {
                    self.state.withLock { $0.attempts.append(endpoint.host) }
                    let mover = Mover(other, delegate)
                    delegate.connectionDidOpen(mover)
                    return mover
                }
                try self.state.withLock { state in
                    state.attempts.append(endpoint.host)
                    guard state.reachable.contains(endpoint.host) else {
                        throw TransportError(.unreachable, "\(endpoint.host) is away", outlook: .passing)
                    }
                }
                return Silent()
            }
            return try await Store.open(configuration)
        }

        /// Waits until as many attempts were made.
        func attempts(_ count: Int) async throws -> [String] {
            try await wait(for: "\(count) attempts") { attempts.count >= count }
            return attempts
        }

        /// Waits until as many attempts were made, moving the clock by steps.
        func attempts(_ count: Int, advancing step: Duration) async throws {
            try await wait(for: "\(count) attempts") {
                if attempts.count < count { clock.advance(by: step) }
                return attempts.count >= count
            }
        }

        /// Waits until a session waits for its next attempt.
        func waiting(_ store: Store) async throws {
            let session = try #require(store.session)
            for await change in session.changes where change.new.activity == .offline { break }
        }
    }
#endif
