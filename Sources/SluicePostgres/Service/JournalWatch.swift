#if PostgreSQL

internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Hears of what other nodes append: the work of one connection on one thread, which listens to their bells and, since a
/// bell may be lost, asks for the heads of all open journals now and then.
final class JournalWatch: Sendable {
    /// How to learn of appends at once.
    enum Listening: Sendable {
        /// By LISTEN, at this address of the server itself.
        case to(PostgresAddress)
        /// Not at all: only by asking.
        case nothing
    }

    private let pool: PostgresPool
    private let places: JournalPlaces
    private let bell: JournalBell
    private let listening: Listening
    let users = UserNews()
    let messages: MessageInbox
    private let log: LogSink?
    private let hear = Mutex<(@Sendable (JournalNews) -> Void)?>(nil)
    /// When the server last answered, and whether it has failed since; nil before the watch begins.
    private let answered = Mutex<(at: ContinuousClock.Instant, hasFailed: Bool)?>(nil)

    init(
        pool: PostgresPool, places: JournalPlaces, bell: JournalBell, messages: MessageInbox, listening: Listening,
        log: LogSink?
    ) {
        self.pool = pool
        self.places = places
        self.bell = bell
        self.messages = messages
        self.listening = listening
        self.log = log
    }

    /// - Parameter hear: see ``JournalService/watch(_:)``.
    func begin(_ hear: @escaping @Sendable (JournalNews) -> Void) {
        self.hear.withLock { $0 = hear }
        noteAnswer()
    }

    /// For how long the server has not answered; zero while it does. One that says nothing is asked every two seconds, and
    /// has failed when an answer is overdue.
    var silence: Duration {
        guard let answered = answered.withLock({ $0 }) else { return .zero }
        let time = answered.at.duration(to: .now)
        return answered.hasFailed || time > pool.timeouts.pollQuiet * 2 ? time : .zero
    }

    private func noteAnswer() { answered.withLock { $0 = (.now, false) } }

    /// Does the work until the service is stopped.
    func run() {
        var said: PostgresFailure?
        while !pool.stop.isGiven {
            do throws(PostgresFailure) {
                let (connection, isListening) = try connect()
                defer { connection.close() }
                noteAnswer()
                if said != nil { log?(.info, "the journal's server answers again") }
                said = nil
                try attend(connection, isListening: isListening)
            } catch {
                guard error != .stopped else { return }
                answered.withLock { $0?.hasFailed = true }
                // What somebody has to change is said also after the connection was lost.
                if said == nil || error != said && error.isOfSetup {
                    log?(
                        .warning, "the journal's server does not answer",
                        [("reason", error.storageError("the node cannot follow others", place).message)])
                }
                said = error
                _ = pool.stop.wait(until: pool.backoff.next)
            }
        }
    }

    /// The server that it is connected to, for messages.
    private var place: PostgresAddress { if case .to(let address) = listening { address } else { pool.address } }

    /// - Returns: a connection, and whether bells arrive there.
    private func connect() throws(PostgresFailure) -> (PostgresConnection, isListening: Bool) {
        guard case .to(let address) = listening else { return (try pool.connect().connection, false) }
        let accepted = try pool.connect(to: address)
        guard !accepted.greeting.isPooled else {
            log?(
                .warning,
                "the journal's address is that of a pooler, which keeps notifications to itself; name PostgreSQL's own "
                    + "address with --journal-listen, or none")
            return (accepted.connection, false)
        }
        try accepted.connection.execute(script: "LISTEN \(NewsChannel.name)")
        return (accepted.connection, true)
    }

    /// Listens and asks for as long as the connection lasts. It ends by an error.
    private func attend(_ connection: PostgresConnection, isListening: Bool) throws(PostgresFailure) {
        try messages.begin(by: connection)
        // What came before LISTEN was not heard. A server that has restarted, or is another one, may also have lost what
        // this node has, and who finds out is whoever follows.
        users.noteGap()
        for place in places.all { say(place) }
        var nextActive = ContinuousClock.now
        var nextQuiet = nextActive
        while true {
            for (payload, processID) in connection.notifications() where !bell.isOwn(processID) { heed(payload) }
            try messages.readRung(by: connection)
            let now = ContinuousClock.now
            if now >= nextActive {
                let isQuietDue = now >= nextQuiet
                if isQuietDue { nextQuiet = now + pool.timeouts.pollQuiet }
                if isQuietDue || !isListening { try users.ask(connection) }
                if !isListening { try messages.readNew(by: connection) }
                let asked = places.all.filter { isQuietDue || $0.isActive }
                // Also without a journal to ask for, so that it is known whether the server answers.
                if isQuietDue || !asked.isEmpty { try ask(connection, asked) }
                nextActive = .now + pool.timeouts.pollActive
            } else {
                _ = try connection.waitForInput(until: isListening && places.all.isEmpty ? nextQuiet : nextActive)
            }
        }
    }

    /// Heeds a bell: the number of a database, and a position or what is asked for; or what else has happened.
    private func heed(_ payload: String) {
        let words = payload.split(separator: " ")
        if let kind = words.first {
            let rest = payload[kind.endIndex...].dropFirst()
            if kind == UserNews.kind { return users.heed(rest) }
            if kind == MessageInbox.kind { return messages.heed(rest) }
        }
        if words.count == 2, words[1] == NewsChannel.upkeep, let id = Int64(words[0]) {
            if let place = places[id] { notify(.upkeepRequested(database: place.name)) }
            return
        }
        let numbers = words.compactMap { UInt64($0) }
        guard numbers.count == 2, let place = places[Int64(clamping: numbers[0])] else { return }
        if place.noteAppend(of: numbers[1]) { say(place) }
    }

    private func ask(_ connection: PostgresConnection, _ places: [JournalPlace]) throws(PostgresFailure) {
        let known = Dictionary(places.map { ($0.id, $0.position) }) { first, _ in first }
        let heads = try connection.execute(JournalStatements.heads, .integers(places.map(\.id)))
        noteAnswer()
        for row in 0..<heads.rowCount {
            let id = heads.integer(0, row: row)
            guard let place = self.places[id] else { continue }
            let end = UInt64(clamping: heads.integer(1, row: row))
            let isNews = place.note(end: end, askedAt: known[id] ?? 0)
            if heads.flag(2, row: row) { place.noteSeal(true) }
            // Who has all of a journal finds that it has ended.
            if isNews || place.isSealed { say(place) }
        }
    }

    private func say(_ place: JournalPlace) { notify(.grew(database: place.name)) }

    private func notify(_ news: JournalNews) { hear.withLock { $0 }?(news) }
}

#endif
