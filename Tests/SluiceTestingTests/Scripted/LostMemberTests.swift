import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// A subscription asks to resume from its members, and one of them leaves the store before the server answers.
@Suite struct LostMemberTests {
    private let server: ScriptedSession
    private let query: Query

    /// The subscription 2 is complete; 3 asks to resume and counts on the user 1.
    init() throws {
        server = try ScriptedSession()
        server.open()
        query = try server.query("User WHERE age > 10")
        let observation = try server.engine.observe(query) { _ in }
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        _ = try server.engine.observe(try server.query("User")) { _ in }
        server.bootstrap(2, [ScriptedSession.user(1, age: 40)])
        try server.engine.endObservation(observation, keeping: false, purging: false)
        _ = try server.engine.observe(query) { _ in }
        #expect(resume(of: 3) != nil)
    }

    private func resume(of number: UInt64) -> ClientMessage.Resume? {
        for case .subscribe(let request) in server.sent() where request.subscription == number { return request.resume }
        return nil
    }

    /// The user 1 is deleted and made anew, as the complete subscription is told.
    private func replaceUser(acknowledged: UInt64? = nil) {
        let content = ViewBlock(departures: [.init(ObjectRef(0, .int(1)), role: .root, reason: .deleted)])
        server.receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 4, acceptedAt: ScriptedSession.now, acknowledged: acknowledged,
                        isContinued: false),
                    blocks: [.init(subscriptions: [2], content: content)]))
        ])
        server.commit(5, to: 2, [ScriptedSession.user(1, age: 50, version: 5)])
    }

    /// Resumes the subscription 3 with a change of an object that it has.
    private func resumeWithChange() {
        var content = ViewBlock()
        content.objects.append(
            ScriptedSession.user(1, age: 50, version: 5), classIndex: 0, role: .member, properties: [1])
        server.receive([
            .page(
                .init(
                    session: 1, subscriptions: [3], version: 5, progress: 1, kind: .resumed, content: content)),
            server.complete(3, .resumed),
        ])
    }

    private var isComplete: Bool {
        server.storage.subscriptions.contains { $0.hash == query.hash && $0.state == .complete }
    }

    @Test func theSubscriptionIsFetchedAnewAndEndsWithTheMember() throws {
        replaceUser()
        resumeWithChange()
        #expect(!isComplete)
        let messages = server.sent()
        #expect(messages.contains(.unsubscribe(session: 1, subscription: 3)))
        let isAnew = messages.contains { message in
            guard case .subscribe(let request) = message else { return false }
            return request.subscription == 4 && request.resume == nil
        }
        #expect(isAnew)
        server.bootstrap(4, [ScriptedSession.user(1, age: 50, version: 5)])
        #expect(isComplete)
        let id = try #require(server.storage.subscriptions.first { $0.hash == query.hash }).id
        #expect(try server.storage.isMember(ObjectRef(0, .int(1)), of: id, role: .root))
    }

    @Test func whileNoMemberIsLostItResumes() throws {
        server.commit(5, to: 2, [ScriptedSession.user(1, age: 50, version: 5)])
        resumeWithChange()
        #expect(isComplete && resume(of: 4) == nil)
    }

    enum Waiting: CaseIterable { case update, deletion, deletionAndCreation }

    /// Writes of the former user, which keep it here.
    private func write(_ waiting: Waiting) throws {
        if waiting == .update { return try server.setAge(of: 1, to: 45) }
        try server.engine.write { try $0.delete(ObjectRef(0, .int(1))) }
        guard waiting == .deletionAndCreation else { return }
        try server.engine.write { try $0.insert(ScriptedSession.user(1, age: 45), ofClass: 0) }
    }

    @Test(arguments: Waiting.allCases) func aMemberThatWritesOfTheFormerKeepHereIsLostToo(_ waiting: Waiting) throws {
        try write(waiting)
        replaceUser()
        resumeWithChange()
        #expect(!isComplete)
        server.bootstrap(4, [ScriptedSession.user(1, age: 50, version: 5)])
        #expect(isComplete)
    }

    /// The server takes the deletion with the commit that tells of it, and what comes under the key is another's.
    @Test func aMemberThatWasDeletedHereIsLostToo() throws {
        try write(.deletion)
        replaceUser(acknowledged: 1)
        #expect(server.storage.outboxCount == 0)
        resumeWithChange()
        #expect(!isComplete)
    }

    /// It may be readable again by the next session, and the server would then not send it.
    @Test func aMemberThatMayNotBeReadIsNotListedAlthoughAPendingWriteShowsIt() throws {
        try server.setAge(of: 1, to: 50)
        expectNothingIsListedOnceItMayNotBeRead()
    }

    /// Were it listed, it would be missing for good once the server had judged the deletion to be without effect.
    @Test func aMemberThatMayNotBeReadIsNotListedAlthoughAPendingDeletionHidesIt() throws {
        try server.engine.write { try $0.delete(ObjectRef(0, .int(1))) }
        expectNothingIsListedOnceItMayNotBeRead()
    }

    private func expectNothingIsListedOnceItMayNotBeRead() {
        let content = ViewBlock(departures: [.init(ObjectRef(0, .int(1)), role: .root, reason: .permission)])
        server.receive([
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 4, acceptedAt: ScriptedSession.now, acknowledged: nil, isContinued: false),
                    blocks: [.init(subscriptions: [2], content: content)]))
        ])
        _ = server.sent()
        server.receive([.listMembers(session: 1, subscription: 3)])
        var listed: [ObjectKey] = []
        for case .members(let members) in server.sent() { listed += members.content.groups.flatMap(\.keys) }
        #expect(listed == [])
    }
}
