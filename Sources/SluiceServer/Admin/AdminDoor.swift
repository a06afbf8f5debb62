internal import Glibc
internal import SluiceModel
internal import SluiceTransport
internal import Synchronization

/// Listens at the admin socket, and makes it again where somebody has removed it.
///
/// | state | event | next |
/// |---|---|---|
/// | absent | the socket is made | open |
/// | open | a look finds that its file is gone | absent |
/// | absent, open | the server stops | stopped |
///
/// Any thread may use it.
final class AdminDoor: Sendable {
    private enum State {
        /// The socket could not be made yet; what hinders it was logged.
        case absent(reason: String)
        case open(WebSocketServer)
        case stopped
    }

    /// How often the file is looked for.
    private static let interval = Duration.seconds(2)

    private let folder: String
    private let hooks: ServerHooks
    private let group: EventLoopGroup
    private let isFolderInPlace: @Sendable () -> Bool
    private let schedule: Schedule
    private let log: LogSink?
    private let state = Mutex(State.absent(reason: ""))

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
            let isWanted = state.withLock { state in
                if case .stopped = state { return false }
                state = .open(server)
                return true
            }
            if !isWanted { Task { await server.stop() } }
            return isWanted
        } catch {
            let isNew = state.withLock { state in
                if case .absent(error.message) = state { return false }
                if case .stopped = state { return false }
                state = .absent(reason: error.message)
                return true
            }
            if isNew { log?(.warning, "there is no admin socket", [("reason", error.message)]) }
            return false
        }
    }

    /// Ends all connections, and listens no more. The group must still be running.
    func stop() async {
        let was = state.withLock { state in
            defer { state = .stopped }
            return state
        }
        guard case .open(let server) = was else { return }
        await server.stop()
        if isFolderInPlace() { unlink(path) }
    }
}
