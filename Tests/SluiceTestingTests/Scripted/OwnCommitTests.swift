import Sluice
import SluiceModel
import SluiceStorage
import SluiceWire
import Testing

/// Who is named as the author of what comes together with the client's own commits.
@Suite struct OwnCommitTests {
    private let server: ScriptedSession
    private let log = EventLog()
    private let observation: UInt64

    init() throws {
        server = try ScriptedSession()
        server.open()
        let log = log
        observation = try server.engine.observe(try server.query("User")) { log.events.append($0) }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40), ScriptedSession.user(2, age: 40)])
        try server.setAge(of: 1, to: 50)
        catchUp()
    }

    /// Has the observer take every event that waits.
    private func catchUp() {
        var count = 0
        while count < log.events.count {
            count = log.events.count
            server.engine.observerIsReady(observation)
        }
    }

    private func author(_ version: UInt64, client: UInt64, user: String) -> CommitAuthor {
        CommitAuthor(
            version: version, userID: user, clientID: client, kinds: [.set], acceptedAt: ScriptedSession.now)
    }

    private func commit(_ version: UInt64, _ authors: [CommitAuthor], _ rows: [Row], acknowledged: UInt64?) {
        var content = ViewBlock(authors: authors)
        for row in rows { content.objects.append(row, classIndex: 0, role: .member, properties: [1]) }
        server.receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: version, acceptedAt: ScriptedSession.now, acknowledged: acknowledged,
                        isContinued: false), blocks: [.init(subscriptions: [1], content: content)]))
        ])
        catchUp()
    }

    private var users: [[String?]] {
        log.events.compactMap { event in event.isInitial ? nil : event.remote?.authors.map(\.userID) }
    }

    @Test func ownCommitsAreNotAmongTheAuthorsOfWhatComesWithThem() throws {
        let before = users.count
        commit(
            5, [author(4, client: 1, user: "me"), author(5, client: 9, user: "other")],
            [ScriptedSession.user(1, age: 50, version: 4), ScriptedSession.user(2, age: 60, version: 5)],
            acknowledged: 1)
        #expect(users.dropFirst(before) == [["other"]])
        #expect(try server.age(of: 2) == .int(60))
    }

    @Test func anOwnCommitThatTheServerChangedIsItsOwnAuthor() throws {
        let before = users.count
        commit(
            4, [author(4, client: 1, user: "me")], [ScriptedSession.user(1, age: 55, version: 4)], acknowledged: 1)
        #expect(users.dropFirst(before) == [["me"]])
        #expect(try server.age(of: 1) == .int(55))
    }
}
