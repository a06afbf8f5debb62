internal import Dispatch
internal import SluiceModel
internal import SluiceTransport
internal import Synchronization

/// The shell around one database: a mailbox, and a serial queue on which the engine handles whatever has come.
///
/// Everything that waits in the mailbox is one batch, so uploads that arrive while a transaction is being synced to disk
/// share the next one.
final class DatabaseWorker: Sendable {
    /// The engine, touched on the queue only.
    private struct Confined: @unchecked Sendable {
        // Sound because every access goes through `queue`.
        let engine: DatabaseEngine
    }

    private struct Mailbox {
        var events: [DatabaseEvent] = []
        var isScheduled = false
        /// Connections that are held back until the mailbox has been emptied.
        var heldBack: [any MessageConnection] = []
    }

    /// Connections that add to a fuller mailbox are held back.
    private static let eventCountMax = 512

    let name: String
    private let confined: Confined
    private let queue: DispatchQueue
    private let mailbox = Mutex(Mailbox())
    private let now: @Sendable () -> Timestamp
    private let carryOut: @Sendable ([DatabaseAction]) -> Void

    /// - Parameter carryOut: called on the database's queue with what is to be sent.
    init(
        _ engine: DatabaseEngine, now: @escaping @Sendable () -> Timestamp,
        carryOut: @escaping @Sendable ([DatabaseAction]) -> Void
    ) {
        name = engine.name
        confined = Confined(engine: engine)
        queue = DispatchQueue(label: "sluice.database.\(engine.name)")
        self.now = now
        self.carryOut = carryOut
    }

    /// Adds an event. From any thread; returns at once.
    ///
    /// - Parameter connection: where it came from; is held back while the database cannot keep up.
    func post(_ event: DatabaseEvent, from connection: (any MessageConnection)? = nil) {
        let mustSchedule = mailbox.withLock { mailbox in
            mailbox.events.append(event)
            if mailbox.events.count > Self.eventCountMax, let connection {
                connection.pauseReceiving()
                mailbox.heldBack.append(connection)
            }
            defer { mailbox.isScheduled = true }
            return !mailbox.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    private func drain() {
        let (events, heldBack) = mailbox.withLock { mailbox in
            defer {
                mailbox.events = []
                mailbox.heldBack = []
            }
            return (mailbox.events, mailbox.heldBack)
        }
        for connection in heldBack { connection.resumeReceiving() }
        let engine = confined.engine
        if !events.isEmpty { carryOut(engine.handle(events, now: now())) }
        if engine.hasWork { carryOut(engine.step(now: now())) }
        engine.keepHouse(now: now())
        let goesOn = mailbox.withLock { mailbox in
            mailbox.isScheduled = !mailbox.events.isEmpty || engine.hasWork
            return mailbox.isScheduled
        }
        if goesOn { queue.async { self.drain() } }
    }

    /// Handles what has come, and closes the database's file.
    func stop() {
        queue.sync {
            let events = mailbox.withLock { mailbox in
                defer { mailbox.events = [] }
                mailbox.isScheduled = true
                return mailbox.events
            }
            carryOut(confined.engine.handle(events, now: now()))
            confined.engine.close()
        }
    }
}
