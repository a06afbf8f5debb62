internal import Dispatch
internal import SluiceExchange
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Knows which databases clients may open, and keeps to what the file in the data folder says. Any thread may use it.
final class DatabaseGate: Sendable {
    /// How often the file is looked at for what other processes have changed.
    private static let watchTime = DispatchTimeInterval.milliseconds(500)

    private struct State {
        var restriction = DatabaseRestriction()
        /// The databases that this process deletes.
        var closing: Set<String> = []
        /// The databases in memory that were there when the restriction was made: one of them that nobody uses is closed,
        /// and opens again.
        var kept: Set<String> = []
        var mark = ""
        /// What somebody was told last of the restriction.
        var told = DatabaseRestriction().summary
        var isStopped = false
    }

    private let folder: String?
    private let file: RestrictionFile?
    private let log: LogSink?
    /// Whether the databases are a cluster's, which has some without a file here.
    private let isOfNode: Bool
    /// Whether a user may be told what databases there are.
    private let tellsNames: @Sendable (User) -> Bool
    private let state = Mutex(State())
    private let watching = DispatchQueue(label: "sluice.gate", qos: .utility)

    /// - Parameters:
    ///   - folder: the data folder; nil for databases in memory.
    ///   - isOfNode: whether the databases are a cluster's.
    ///   - tellsNames: whether a user may be told what databases there are.
    /// - Throws: ``ServerError`` if the file is there and says no restriction.
    init(
        _ folder: String?, log: LogSink?, isOfNode: Bool = false,
        tellsNames: @escaping @Sendable (User) -> Bool = { _ in false }
    ) throws(ServerError) {
        self.folder = folder
        self.isOfNode = isOfNode
        self.tellsNames = tellsNames
        self.log = log
        file = folder.map { RestrictionFile(inFolder: $0) }
        guard let file else { return }
        let (mark, restriction) = (file.mark, try file.read())
        state.withLock { state in
            state.mark = mark
            state.restriction = restriction
            state.told = restriction.summary
        }
    }

    var restriction: DatabaseRestriction { state.withLock { $0.restriction } }

    /// Which databases clients may open, in words, if that has changed since the last call.
    func takeNews() -> String? {
        state.withLock { state in
            guard state.told != state.restriction.summary else { return nil }
            state.told = state.restriction.summary
            return state.told
        }
    }

    /// Why clients may not open a database, and whether that will pass; nil if they may.
    ///
    /// - Parameter isOpen: whether the database is open; asked where databases have no files.
    func refusal(of name: String, isOpen: () -> Bool) -> (message: String, isPassing: Bool)? {
        let (restriction, closing, kept) = state.withLock { ($0.restriction, $0.closing, $0.kept) }
        if closing.contains(name) || restriction.closed.contains(name) {
            return ("the database '\(name)' is closed at the moment; try again later", true)
        }
        if let names = restriction.names, !names.contains(name) {
            return ("the server has no database '\(name)' for clients", false)
        }
        guard !restriction.allowsNew, !isThere(name, kept, isOpen) else { return nil }
        return ("the server has no database '\(name)', and makes none", false)
    }

    /// Whether a database is there. Of a data folder that is gone nothing is known: opening the database says so.
    private func isThere(_ name: String, _ kept: Set<String>, _ isOpen: () -> Bool) -> Bool {
        guard let folder else { return kept.contains(name) || isOpen() }
        return SQLiteServerStorage.isTaken("\(folder)/\(DatabaseFileName.of(name))") || !DataFolder.isThere(folder)
    }

    /// Why there is no session of a database for somebody who wants none to be made, with the name that was probably meant
    /// if the user may know it; nil if the database is there. A node asks its cluster when it opens the database.
    func absence(of name: String, for user: User, isOpen: () -> Bool) -> String? {
        guard !isOfNode, !isThere(name, state.withLock(\.kept), isOpen) else { return nil }
        let absence = "the server has no database '\(name)'"
        guard let folder, tellsNames(user) else { return absence }
        let names = DataFolder.databaseNames(folder).filter { other in
            DatabaseName.isValid(other) && refusal(of: other, isOpen: { false }) == nil
        }
        return Suggestion.closest(to: name, among: names).map { "\(absence); did you mean '\($0)'?" } ?? absence
    }

    /// Stores which databases clients may open.
    ///
    /// - Parameter names: the databases that are there; needed where databases have no files.
    func restrict(to restriction: DatabaseRestriction, existing names: [String]) throws(ServerError) {
        let stored = try file?.change(isAnew: true) { former in
            var restriction = restriction
            restriction.closed = former.closed
            former = restriction
        }
        state.withLock { state in
            state.restriction = stored ?? restriction
            state.mark = file?.mark ?? ""
            if folder == nil { state.kept = restriction.allowsNew ? [] : state.kept.union(names) }
        }
    }

    /// Keeps clients from a database until ``reopen(_:)``.
    ///
    /// - Returns: false if somebody does so already.
    func close(_ name: String) -> Bool { state.withLock { $0.closing.insert(name).inserted } }

    /// Forgets a database in memory that was deleted.
    func forget(_ name: String) { state.withLock { _ = $0.kept.remove(name) } }

    func reopen(_ name: String) { state.withLock { _ = $0.closing.remove(name) } }

    // MARK: Watching

    /// Begins to call back after the file has changed, until ``stop()``.
    func watch(_ didChange: @escaping @Sendable () -> Void) {
        guard file != nil else { return }
        watching.asyncAfter(deadline: .now() + Self.watchTime) { [weak self] in
            guard let self, !state.withLock(\.isStopped) else { return }
            if readAgain() { didChange() }
            watch(didChange)
        }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// Reads the file if it has changed. What cannot be read leaves all as it was.
    ///
    /// - Returns: whether clients may open other databases now.
    func readAgain() -> Bool {
        guard let file else { return false }
        let mark = file.mark
        guard state.withLock({ $0.mark != mark }) else { return false }
        do {
            let restriction = try file.read()
            return state.withLock { state in
                defer { state.restriction = restriction }
                state.mark = mark
                return state.restriction != restriction
            }
        } catch {
            state.withLock { $0.mark = mark }
            log?(.error, "which databases clients may open could not be read", [("error", error.message)])
            return false
        }
    }
}
