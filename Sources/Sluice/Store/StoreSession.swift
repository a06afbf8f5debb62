public import Dispatch

/// The syncing of one store: what it does now, and the ways to steer it. ``Store/session`` returns it.
///
/// Most programs need none of it: a store syncs from when it is opened until it is closed, and observers are told what
/// arrives. What is called here concerns this store alone. Stores that share a file share a session.
///
/// ```swift
/// let token = store.session?.observe { change in print("sync: \(change)") }
/// try store.session?.pause()
/// try await store.write { try $0.insert(note) }  // is kept here
/// try store.session?.resume()                    // and is uploaded
/// ```
public struct StoreSession: Sendable {
    let hold: StoreLease

    init(_ hold: StoreLease) { self.hold = hold }

    // MARK: Seeing

    /// What syncing does now. It waits for nothing; O(1).
    public var status: SessionStatus { hold.core.sessions.status }

    /// Whether the store wants to sync.
    public var state: SessionStatus.State { status.state }

    /// What there is of a connection.
    public var connection: SessionStatus.Connection { status.connection }

    /// What syncing does.
    public var activity: SessionStatus.Activity { status.activity }

    /// Whom the server takes the store's user for; nil while no session is open.
    public var login: SessionStatus.Login? { status.login }

    /// The changes of the status as an asynchronous sequence. It begins with the status of now, whose `old` is nil, and
    /// ends when the store is closed.
    ///
    /// For a consumer that is slow at most 64 changes wait, the last of which joins all later ones.
    public var changes: SessionEvents<SessionChange> { SessionEvents(hold.core.sessions.changes) }

    /// Calls `handler` with the status of now, and then with each change of it.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called, with one change at a time; nil for a thread of the
    ///     store.
    ///   - handler: called until the token is stopped or released, or the store is closed.
    public func observe(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (SessionChange) -> Void
    ) -> HandlerToken {
        hold.core.observe(hold.core.sessions.changes, on: queue, handler)
    }

    /// How far a transfer has come, as an asynchronous sequence, beginning with now. Each value is the newest; a consumer
    /// that is slow misses some. It ends when the store is closed, and for ``SyncProgress/Extent/outstanding`` work when
    /// that is done, or when syncing stops or fails.
    ///
    /// - Parameters:
    ///   - direction: which way data travels.
    ///   - extent: whether later work counts too.
    public func progress(
        of direction: SyncProgress.Direction, _ extent: SyncProgress.Extent = .indefinitely
    ) -> SessionEvents<SyncProgress> {
        SessionEvents(hold.core.progress(direction, extent))
    }

    /// Calls `handler` with how far a transfer has come, now and whenever that changes, as ``progress(of:_:)`` says.
    ///
    /// - Parameters:
    ///   - direction: which way data travels.
    ///   - extent: whether later work counts too.
    ///   - queue: where the handler is called, with one value at a time; nil for a thread of the
    ///     store.
    ///   - handler: called until the token is stopped or released, or no more comes.
    public func observeProgress(
        of direction: SyncProgress.Direction, _ extent: SyncProgress.Extent = .indefinitely,
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (SyncProgress) -> Void
    ) -> HandlerToken {
        hold.core.observe(hold.core.progress(direction, extent), on: queue, handler)
    }

    /// The objects that travel, as an asynchronous sequence: of uploads when the server has answered them, with the
    /// reason where it has rejected one; and what the server's changes have created, changed and removed here, whatever
    /// is observed. It begins with what comes next, and ends when the store is closed.
    ///
    /// As long as somebody listens, each change of the server's costs as if somebody observed it. A consumer that is
    /// slow gets the first 1,000 that wait, and of the others the number of their objects.
    public var transfers: SessionEvents<ObjectTransfer> { SessionEvents(hold.core.transfers.source) }

    /// Calls `handler` with the objects that travel, as ``transfers`` says.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called, with one step at a time; nil for a thread of the
    ///     store.
    ///   - handler: called until the token is stopped or released, or the store is closed.
    public func observeTransfers(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (ObjectTransfer) -> Void
    ) -> HandlerToken {
        hold.core.observe(hold.core.transfers.source, on: queue, handler)
    }

    /// How far the server's clock was ahead of this machine's when the last session opened; nil before the first one.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public var serverClockOffset: Duration? {
        get throws { try hold.core.performAndWait { $0.serverClockOffset } }
    }

    // MARK: Steering

    /// Ends the connection until ``resume()``. Writes are stored and queued meanwhile, observers see what is here, and
    /// those who wait for the server go on waiting. Does nothing unless the state is
    /// ``SessionStatus/State/active``.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func pause() throws { try hold.core.performAndWait { try $0.steer(.pause) } }

    /// Connects again after ``pause()``, at once. Does nothing unless the store is paused.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func resume() throws { try hold.core.performAndWait { try $0.steer(.resume) } }

    /// Begins to sync: a store that was opened with ``StoreConfiguration/startsSyncing`` off, one that was stopped, or
    /// one whose syncing has failed. Resumes a paused store. Does nothing while the store syncs.
    ///
    /// - Parameter reset: discards what this store knows of the server first, and fetches every observed query anew:
    ///   the way out when the local copy is in doubt. It also restarts a store that syncs. What was written here and is
    ///   not acknowledged stays, and is uploaded.
    /// - Throws: ``StoreError`` when the store is closed, or its file cannot be written.
    public func start(reset: Bool = false) throws {
        try hold.core.performAndWait { try $0.steer(.start, isReset: reset) }
    }

    /// Ends syncing until ``start(reset:)``. Unlike ``pause()``, those who wait for the server get an error with the
    /// code ``SyncError/Code/stopped``. Observers stay.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func stop() throws { try hold.core.performAndWait { try $0.steer(.stop) } }

    /// Tries to connect now instead of after the wait between attempts, which begins with its shortest time again.
    /// Does nothing while the store is connected or connecting, or does not want to sync.
    ///
    /// - Throws: ``StoreError`` when the store is closed.
    public func reconnect() throws { try hold.core.performAndWait { try $0.steer(.reconnectNow) } }
}
