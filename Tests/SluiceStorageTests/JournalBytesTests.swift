import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// The bytes of groups of the journal, and the chain of their hashes.
@Suite(.ownThread) struct JournalBytesTests {
    /// A group with every kind of step.
    private static let everyStep = JournalGroup(
        baseVersion: 7, acceptedAt: Timestamp(microseconds: 1_000), workerID: "w",
        steps: [
            .transaction(
                JournalTransaction(
                    clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                    kinds: [.create, .set, .add],
                    changes: [
                        JournalChange(Garage.carRef("A"), .create, written: [0, 1], values: [.string("A"), .int(5)]),
                        JournalChange(
                            Garage.carRef("B"), .update, written: [1], values: [.int(12)],
                            partial: [FieldOperation(1, .add(.int(2)))]),
                        JournalChange(Garage.carRef("C"), .delete),
                    ])),
            .rejection(client: 3, sequence: 10, notice: [1, 2]), .confirmation(client: 3, sequence: 8),
            .progress(client: 4, sequence: 2), .forgetting([5]), .epoch(1), .schema(Schema()),
            .removal(classIndex: 1, property: nil), .removal(classIndex: 0, property: 2), .trim(version: 6),
            .visit(
                ClientVisit(
                    clientID: 6, userID: "u", nonce: ObjectID(high: 1, low: 2), offer: ObjectID(high: 1, low: 4),
                    version: 3,
                    time: Timestamp(microseconds: 5))),
            .nonce(client: 6, ObjectID(high: 1, low: 3)), .seen([6, 7], at: Timestamp(microseconds: 7)),
            .mark(9), .comparison,
            .job(
                JobRecord(
                    .init(space: "s", name: [1]), due: Timestamp(microseconds: 4), value: [7])),
            .jobRemoval(.init(space: "s", name: [2])), .rules([1, 2]),
            .rules(
                [3],
                from: RulesOrigin(.client, at: Timestamp(microseconds: 5), userID: "u", workerID: "w")),
        ])

    /// Written out by hand from the description of the format, so that a change of it is noticed.
    private static let everyStepBytes = """
        02 07 d00f 01 01 77 13 00 03 09 00 28 15 03 00020141 00 0103 00020142 09 0102 01 01 01 0304 00020143 02 00 01 03 0a \
        02 0102 02 03 08 03 04 02 04 01 05 05 0100000000000000 06 00 07 01 00 07 00 01 02 08 06 \
        0b 06 010175 00000000000000010000000000000002 00000000000000010000000000000004 03 0a 0c 06 00000000000000010000000000000003 0d 02 06 07 0e \
        0e 0900000000000000 0f 10 0173 0101 01 08 0107 11 0173 0102 09 02 0102 12 01 03 02 0a 01 0175 01 0177 060141 030a 0318
        """

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func aGroupHasTheBytesThatItHadInThisFormat() throws {
        let bytes = Self.everyStep.encoded()
        #expect(Self.hexadecimal(bytes) == Self.everyStepBytes.filter { $0 != " " })
        #expect(try JournalGroup.decode(bytes) == Self.everyStep)
    }

    @Test func `a group has the oldest format that has all of it`() throws {
        let origin = RulesOrigin(.client, at: Timestamp(microseconds: 5), userID: "u", workerID: "w")
        func group(_ steps: JournalStep...) -> JournalGroup {
            JournalGroup(baseVersion: 1, acceptedAt: Timestamp(microseconds: 1), steps: steps)
        }
        #expect(group(.rules([1]), .epoch(2)).encoded().first == 1)
        #expect(group(.rules([1]), .rules([2], from: origin)).encoded().first == 2)
        #expect(JournalStep.rules([2], from: origin).limited(to: 1) == .rules([2]))
        #expect(JournalStep.rules([2], from: origin).limited(to: 2) == .rules([2], from: origin))
        #expect(JournalStep.epoch(3).limited(to: 1) == .epoch(3))
        var later = group(.epoch(2)).encoded()
        later[0] = 3
        let error = #expect(throws: StorageError.self) { try JournalGroup.decode(later) }
        #expect(error?.message.contains("reads formats up to 2") == true)
    }

    @Test func whatWasDoneToElementsIsReadBackWithTheValues() throws {
        let edits = FieldOperation(2, .edit(ElementEdits(inserting: [.string("b")], erasing: [.string("c")])))
        let group = JournalGroup(
            baseVersion: 7, acceptedAt: Timestamp(microseconds: 1_000),
            steps: [
                .transaction(
                    JournalTransaction(
                        clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                        kinds: [.setInsert, .setErase, .add],
                        changes: [
                            JournalChange(
                                Garage.carRef("B"), .update, written: [1, 2],
                                values: [.int(12), .set([.string("a"), .string("b")])],
                                partial: [FieldOperation(1, .add(.int(2))), edits])
                        ]))
            ])
        #expect(try JournalGroup.decode(group.encoded()) == group)
        let outline = try JournalGroup.decode(group.encoded(), wantsValues: false)
        #expect(
            outline.transactions.flatMap(\.changes).flatMap(\.partial) == [FieldOperation(1, .add(.int(2))), edits])
    }

    @Test func whichValuesAreDefaultsAndWhatCreatesIsReadBackWithAndWithoutTheValues() throws {
        let change = JournalChange(
            Garage.carRef("B"), .create, written: [1, 2], values: [.int(12), .string("red")], defaulted: [2])
        let group = JournalGroup(
            baseVersion: 7, acceptedAt: Timestamp(microseconds: 1_000),
            steps: [
                .transaction(
                    JournalTransaction(
                        clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                        kinds: [.create],
                        changes: [
                            change,
                            JournalChange(
                                Garage.carRef("C"), .update, written: [1], values: [.int(3)], creates: true),
                        ]))
            ])
        #expect(try JournalGroup.decode(group.encoded()) == group)
        let outline = try JournalGroup.decode(group.encoded(), wantsValues: false)
        #expect(outline.transactions.flatMap(\.changes).map(\.defaulted) == [[2], []])
        #expect(outline.transactions.flatMap(\.changes).map(\.creates) == [false, true])
        var impossible = change
        impossible.defaulted = [3]
        var other = group
        other.steps = [
            .transaction(
                JournalTransaction(
                    clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                    changes: [impossible]))
        ]
        #expect(throws: StorageError.self) { try JournalGroup.decode(other.encoded()) }
    }

    /// A group with a transaction that stays columns.
    private static func columns() throws -> JournalGroup {
        var operations: [ObjectOperation] = []
        for number in 0..<20 {
            let count: FieldOperation.Change = number % 3 == 0 ? .setDefault(.int(0)) : .set(.int(Int64(number)))
            let color = Value.string(number % 2 == 0 ? "red" : "blue")
            let fields = [FieldOperation(1, count), FieldOperation(2, .set(color))]
            operations.append(ObjectOperation(Garage.carRef("C\(10 + number)"), .create(fields)))
        }
        let changeset = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1), operations: operations)
        let received = try ByteReader.decode(changeset.wireBytes()) { reader throws(WireError) in
            try Changeset(from: &reader)
        }
        var transaction = JournalTransaction(
            clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20), kinds: [.create],
            changes: [])
        let creations: Creations = try #require(received.creations)
        transaction.creations = creations
        var group = everyStep
        group.steps.insert(.transaction(transaction), at: 1)
        return group
    }

    @Test func whatStaysColumnsIsReadBackAsItsChanges() throws {
        let group = try Self.columns()
        let bytes = group.encoded()
        let read = try JournalGroup.decode(bytes)
        #expect(read == group && read.encoded() == bytes)
        var expanded = group
        for case (let index, .transaction(var transaction)) in group.steps.enumerated() {
            transaction.changes = transaction.changes
            expanded.steps[index] = .transaction(transaction)
        }
        #expect(expanded == group && expanded.encoded().count > bytes.count)
        let changes = try #require(read.transactions.compactMap { $0.creations == nil ? nil : $0.changes }.first)
        #expect(changes.map(\.object) == (0..<20).map { Garage.carRef("C\(10 + $0)") })
        #expect(changes[4].values == [.int(4), .string("red")] && changes[4].defaulted.isEmpty)
        #expect(changes[3].values == [.int(0), .string("blue")] && changes[3].defaulted == [1])
        let outline = try JournalGroup.decode(bytes, wantsValues: false)
        #expect(
            outline.transactions.map { $0.changes.map(\.object) } == group.transactions.map { $0.changes.map(\.object) }
        )
        for count in 0..<bytes.count {
            #expect(throws: StorageError.self) { try JournalGroup.decode(Array(bytes.prefix(count))) }
        }
    }

    @Test func theChainHasTheHashThatItHadInThisFormat() {
        let start = JournalHead(of: ObjectID(high: 1, low: 2))
        #expect(
            Self.hexadecimal(start.chain) == "b1159b226092ccd77c82496bbeefd3bfe38ff9c3e0ca1b2235b11961702b9fd1")
        let next = start.following(Self.everyStep.encoded())
        #expect(next.position == 1)
        #expect(Self.hexadecimal(next.chain) == "8dbb8fff8f747fb40d07d3cb9c8fc2b9a992f60760341d61b983b18aff0ab465")
    }

    @Test func aGroupWithoutItsValuesTellsWhoWroteWhat() throws {
        let outline = try JournalGroup.decode(Self.everyStep.encoded(), wantsValues: false)
        let changes = outline.transactions.flatMap(\.changes)
        #expect(changes.map(\.object) == ["A", "B", "C"].map(Garage.carRef))
        #expect(changes.allSatisfy { $0.values.isEmpty })
        #expect(changes.map(\.written) == [[0, 1], [1], []])
    }

    @Test func bytesThatAreNoGroupAreRefused() throws {
        let bytes = Self.everyStep.encoded()
        for count in 0..<bytes.count {
            let error = #expect(throws: StorageError.self) { try JournalGroup.decode(Array(bytes.prefix(count))) }
            #expect(error?.code == .journal)
        }
        #expect(throws: StorageError.self) { try JournalGroup.decode(bytes + [0]) }
        let newer = #expect(throws: StorageError.self) { try JournalGroup.decode([3] + bytes.dropFirst()) }
        #expect(newer?.message.contains("format 3") == true)
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func changedBytesAreRefusedOrDecodeToAnotherGroup(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bytes = seed % 2 == 0 ? Self.everyStep.encoded() : try Self.columns().encoded()
        for _ in 0..<2_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                changed[Int.random(in: changed.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            guard let group = try? JournalGroup.decode(changed) else { continue }
            #expect(try JournalGroup.decode(group.encoded()).encoded() == group.encoded())
        }
    }
}
