internal import Glibc
internal import SluiceModel
internal import SluiceTransport
internal import Synchronization

/// Listens at the admin socket, and makes it again where somebody has removed it.
///
/// Any thread may use it.
final class AdminDoor: Sendable {
    /// Whether somebody listens at the socket.
    ///
    ///     state     socket made         cannot be made   stop
    ///     -----------------------------------------------------
    ///     absent    open                absent           stopped
    ///     open      open, at this one   absent           stopped
    ///     stopped   = (not wanted)      =                =
    ///
    /// `=` leaves the state.
    enum State<Server: Sendable>: Sendable {
        /// The socket could not be made yet; what hinders it was logged.
        case absent(reason: String)
        case open(Server)
        case stopped

        /// Notes that somebody listens.
        ///
        /// - Returns: whether it is wanted: false once stopped.
        mutating func open(_ server: Server) -> Bool {
            if case .stopped = self { return false }
            self = .open(server)
            return true
        }

        /// Notes that the socket cannot be made.
        ///
        /// - Returns: whether that is worth saying: it is new.
        mutating func fail(because reason: String) -> Bool {
            switch self {
            case .stopped, .absent(reason): return false
            case .absent, .open: self = .absent(reason: reason)
            }
            return true
        }

        /// - Returns: who listened last.
        mutating func stop() -> Server? {
            defer { self = .stopped }
            if case .open(let server) = self { return server }
            return nil
        }
    }

    /// How often the file is looked for.
    private static let interval = Duration.seconds(2)

    private let folder: String
    private let hooks: ServerHooks
    private let group: EventLoopGroup
    private let isFolderInPlace: @Sendable () -> Bool
    private let schedule: Schedule
    private let log: LogSink?
    private let state = Mutex(State<WebSocketServer>.absent(reason: ""))

    /// Listens. Where the socket cannot be made, such as on a full disk, that is tried again.
    ///
    /// - Parameters:
    ///   - folder: the data folder.
    ///   - isFolderInPlace: whether the folder is still the one that the server has locked.
    init(
        inFolder folder: String, _ pages: AdminPages, group: EventLoopGroup, schedule: @escaping Schedule,
        log: LogSink?, isFolderInPlace: @escaping @Sendable () -> Bool
    ) {
        self.folder = folder
        self.group = group
        self.isFolderInPlace = isFolderInPlace
        self.schedule = schedule
        self.log = log
        var routes = WebRoutes()
        pages.add(to: &routes)
        hooks = ServerHooks(
            accept: { _, _ in .reject(status: 404, text: "this socket is the operator's, and has no databases") },
            route: { [routes] request in routes.route(request) })
        open()
        watch()
    }

    private var path: String { "\(folder)/\(AdminSocket.name)" }

    private func watch() {
        schedule(Self.interval) { [weak self] in
            guard let self, look() else { return }
            watch()
        }
    }

    /// Makes the socket anew if its file is gone.
    ///
    /// - Returns: whether to look again.
    private func look() -> Bool {
        let former: WebSocketServer?
        switch state.withLock({ $0 }) {
        case .stopped: return false
        case .absent: former = nil
        case .open(let server): former = server
        }
        // In another folder of the name another server may listen.
        guard access(path, F_OK) != 0, isFolderInPlace() else { return true }
        if let former { Task { await former.stop() } }
        if open() { log?(.info, "the admin socket was made again", [("file", path)]) }
        return true
    }

    /// - Returns: whether there is a socket now.
    @discardableResult
    private func open() -> Bool {
        do {
            let server = try WebSocketServer.listen(
                inFolder: folder, name: AdminSocket.name, group: group, hooks: hooks)
            let isWanted = state.withLock { $0.open(server) }
            if !isWanted { Task { await server.stop() } }
            return isWanted
        } catch {
            if state.withLock({ $0.fail(because: error.message) }) {
                log?(.warning, "there is no admin socket", [("reason", error.message)])
            }
            return false
        }
    }

    /// Ends all connections, and listens no more. The group must still be running.
    func stop() async {
        guard let server = state.withLock({ $0.stop() }) else { return }
        await server.stop()
        if isFolderInPlace() { unlink(path) }
    }
}
