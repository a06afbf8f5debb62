import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Creations are uploaded by column.
struct CreationRunUploadTests {
    private func upload(isWrittenBefore: Bool) throws -> (frame: [UInt8], changeset: Changeset) {
        let session = try ScriptedSession()
        func write() throws {
            try session.engine.write { writer in
                for id in 0..<100 as Range<Int64> {
                    try writer.insert(Row(key: .int(id), values: [.int(id), .int(30)]), ofClass: 0)
                }
            }
        }
        // What was written before the first session is queued as it begins.
        if isWrittenBefore { try write() }
        session.greet()
        session.opened(.created)
        if !isWrittenBefore { try write() }
        for action in session.actions() {
            guard case .send(let frame) = action else { continue }
            for message in try Frame.decode(frame, as: ClientMessage.self) {
                guard case .upload(_, let changesets) = message, let changeset = changesets.first else { continue }
                return (frame, changeset)
            }
        }
        Issue.record("nothing was uploaded")
        throw WireError(.malformed, "no upload", offset: 0)
    }

    @Test(arguments: [true, false]) func creationsTravelByColumn(isWrittenBefore: Bool) throws {
        let (frame, changeset) = try upload(isWrittenBefore: isWrittenBefore)
        #expect(changeset.creations?.count == 100)
        let byteCount = changeset.operations.reduce(0) { $0 + $1.wireBytes().count }
        #expect(frame.count * 3 < byteCount)
    }

    /// What a transaction does once it has created users.
    enum Sequel: CaseIterable {
        case nothing, change, deletion, otherCreation, otherClass, upsert, query, failure
    }

    private static func user(_ id: Int64, age: Int64) -> Row { ScriptedSession.user(id, age: age, version: 0) }

    private static func creation(_ id: Int64, _ age: FieldOperation.Change) -> ObjectOperation {
        ObjectOperation(ObjectRef(0, .int(id)), .create([FieldOperation(1, age)]))
    }

    /// Does what follows, and the same to the expected operations.
    private func follow(
        _ sequel: Sequel, _ query: Query, _ writer: LocalWriter, _ expected: inout [ObjectOperation]
    ) throws {
        let object = ObjectRef(0, .int(5))
        switch sequel {
        case .nothing: break
        case .change:
            let addition = FieldOperation(1, .add(.int(1)))
            try writer.update(object, [addition])
            expected[5] = Self.creation(5, .set(.int(6)))
            // What is added to a default stays apart from it.
            try writer.update(ObjectRef(0, .int(0)), [addition])
            expected[0].action = .create([FieldOperation(1, .setDefault(.int(0))), addition])
        case .deletion:
            try writer.delete(object)
            expected.append(ObjectOperation(object, .delete))
        case .otherCreation:
            try writer.delete(object)
            try writer.insert(Self.user(5, age: 7), ofClass: 0)
            expected += [ObjectOperation(object, .delete), Self.creation(5, .set(.int(7)))]
        case .otherClass:
            try writer.insert(Row(key: .int(1), values: [.int(1), .null, .link(.int(5))]), ofClass: 1)
            let team = [FieldOperation(1, .setDefault(.null)), FieldOperation(2, .set(.link(.int(5))))]
            expected.append(ObjectOperation(ObjectRef(1, .int(1)), .create(team)))
        case .upsert:
            try writer.upsert(Self.user(6, age: 8), ofClass: 0, present: [0, 1])
            try writer.upsert(Self.user(500, age: 0), ofClass: 0, present: [0, 1])
            expected[6] = Self.creation(6, .set(.int(8)))
            expected.append(Self.creation(500, .set(.int(0))))
        case .query:
            #expect(try writer.results(of: query).visible.count == expected.count)
            try writer.insert(Self.user(500, age: 1), ofClass: 0)
            expected.append(Self.creation(500, .set(.int(1))))
        case .failure:
            let error = #expect(throws: StoreError.self) { try writer.insert(Self.user(5, age: 9), ofClass: 0) }
            #expect(error?.code == .objectExists)
        }
    }

    @Test(arguments: Sequel.allCases, [15, 100] as [Int64])
    func `what is written after many creations is uploaded with them`(sequel: Sequel, count: Int64) throws {
        let session = try ScriptedSession(classes: [ScriptedSession.team()])
        session.open()
        let query = try session.query("User")
        var expected = (0..<count).map { id in
            Self.creation(id, id % 10 == 0 ? .setDefault(.int(0)) : .set(.int(id % 10)))
        }
        try session.engine.write { writer in
            for id in 0..<count { try writer.insert(Self.user(id, age: id % 10), ofClass: 0) }
            try follow(sequel, query, writer, &expected)
        }
        var changesets: [Changeset] = []
        try session.storage.forEachOutboxChangeset(after: 0) {
            changesets.append($0)
            return true
        }
        let changeset = try #require(changesets.first)
        #expect(changesets.count == 1 && changeset.operations == expected)
        #expect((changeset.creations != nil) == (count >= 16 && [.nothing, .failure].contains(sequel)))
        #expect(try Changeset(wireBytes: changeset.wireBytes()) == changeset)
        for operation in expected { #expect(try session.storage.hasPending(operation.object)) }
        #expect(changeset.dataSize == expected.reduce(DataSize()) { $0 + $1.dataSize })
    }

    @Test func `many creations of a transaction have the limits of their operations`() throws {
        for isTooLarge in [false, true] {
            let operations = (0..<100 as Range<Int64>).map { Self.creation($0, .set(.int(1))) }
            let size = operations.reduce(DataSize()) { $0 + $1.dataSize }
            let session = try ScriptedSession {
                $0.dataLimits.transactionByteCount = size.byteCount - (isTooLarge ? 1 : 0)
            }
            session.open()
            func write() throws {
                try session.engine.write { writer in
                    for id in 0..<100 as Range<Int64> { try writer.insert(Self.user(id, age: 1), ofClass: 0) }
                }
            }
            if isTooLarge {
                let error = #expect(throws: StoreError.self) { try write() }
                #expect(error?.code == .transactionTooLarge)
            } else {
                try write()
            }
            #expect(session.storage.outboxCount == (isTooLarge ? 0 : 1))
        }
    }

    /// A deletion that the server has rejected stays visible, until the object is created again.
    @Test func `a rejected deletion ends with a creation among many`() throws {
        let session = try ScriptedSession { $0.keepsRejectedWrites = true }
        session.open()
        let object = ObjectRef(0, .int(5))
        try session.engine.write { try $0.delete(object) }
        let reason = ServerMessage.Rejection.Reason(object: object, code: .invalidOperation, message: "not so")
        session.receive([
            .rejected(.init(session: 1, rejection: .init(sequence: 1, reasons: [reason]))),
            .commit(
                .init(
                    CommitHeader(
                        session: 1, version: 3, acceptedAt: ScriptedSession.now, acknowledged: 1, isContinued: false))),
        ])
        #expect(session.storage.keptObjects == [object])
        try session.engine.write { writer in
            for id in 0..<20 as Range<Int64> { try writer.insert(Self.user(id, age: id), ofClass: 0) }
        }
        #expect(session.storage.keptObjects.isEmpty)
        #expect(try session.age(of: 5) == .int(5))
    }
}
