import FoundationEssentials
import SluiceModel
import TestSupport
import Testing

@testable import SluiceWire

@Suite(.ownThread) struct RoundTripTests {
    private static let seeds: [UInt64] = Array(1...20)

    @Test(arguments: seeds)
    func valuesRowsAndChangesetsComeBackEqual(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        for _ in 0..<100 {
            try expectSame(samples.value())
            try expectSame(samples.key())
            try expectSame(samples.row())
            try expectSame(samples.changeset())
            try expectSame(samples.schema())
            try expectSame(PropertySet(samples.many(upTo: 5) { $0.below(500) }))
        }
    }

    @Test(arguments: seeds)
    func clientMessagesComeBackEqual(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        for _ in 0..<60 {
            let message = samples.clientMessage()
            #expect(try Frame.decode(Frame.encode(message)) == [message])
        }
    }

    @Test(arguments: seeds)
    func serverMessagesComeBackEqualAndInOrder(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        for _ in 0..<30 {
            let messages = samples.many(upTo: 5) { $0.anyServerMessage() }
            var builder = FrameBuilder()
            for message in messages { builder.append(message) }
            let frame = builder.finish()
            #expect(try Frame.decode(frame) == messages)
            // Whoever passes frames on reads no more of them than this.
            let first = Frame.first(of: frame)
            #expect(first?.type == messages.first?.type && first?.session == messages.first?.session)
            for count in 0..<min(40, frame.count) { _ = Frame.first(of: Array(frame[..<count])) }
        }
    }

    @Test(arguments: seeds)
    func blocksFilledRowByRowComeBackByColumnWithOrderKept(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        let properties: [PropertySet] = [[0, 1, 2], [1], []]
        let columns = (0..<3).map { _ in samples.column(count: 300) }
        var block = ObjectBlock()
        var rows: [BlockRow] = []
        for index in 0..<300 {
            let row = Row(key: .int(Int64(index)), version: samples.number(), values: columns.map { $0[index] })
            let carried = samples.pick(properties)
            let role = samples.pick(RowRole.allCases)
            block.append(row, classIndex: 3, role: role, properties: carried)
            rows.append(
                BlockRow(
                    object: ObjectRef(3, row.key), version: row.version, role: role, properties: carried,
                    values: carried.map { row.values[$0] }))
        }
        let decoded = try ObjectBlock(wireBytes: block.wireBytes())
        #expect(decoded == block)
        for (index, row) in rows.enumerated() {
            #expect(decoded.rows.filter { $0.object == row.object } == [row], "row \(index)")
        }
        #expect(block.groups.count <= 9)
        #expect(block.estimatedSize > block.wireBytes().count / 4)
    }

    /// The id is a hash, which cannot be compressed to less than its 16 bytes.
    @Test func theIDOfAKeyedObjectIsNeverSent() throws {
        var group = ObjectGroup(classIndex: 0, role: .root, properties: [1])
        for number in 0..<1_000 as Range<Int64> {
            group.append(key: .int(number), version: 1, values: [.link(.int(number + 1))])
        }
        let bytes = group.wireBytes()
        #expect(bytes.count < 16 * group.count / 4)
        let decoded = try ObjectGroup(wireBytes: bytes)
        #expect(
            decoded.keys.map { Identity(className: "Plane", key: $0).objectID }
                == group.keys.map { Identity(className: "Plane", key: $0).objectID })
    }

    @Test func commitFromSharedBlocksEqualsTheSameCommitEncodedWhole() throws {
        var samples = SampleGenerator(seed: 77)
        let first = samples.viewBlock()
        let second = samples.viewBlock()
        let header = CommitHeader(session: 4, version: 900, acceptedAt: Timestamp(microseconds: 5), acknowledged: 12)
        var builder = FrameBuilder()
        builder.appendCommit(header, blocks: [([1, 2], SharedBlock(first)), ([3], SharedBlock(second))])
        builder.appendPage(session: 4, subscriptions: [9], version: 899, progress: 0.25, content: SharedBlock(first))
        let expected: [ServerMessage] = [
            .commit(
                .init(
                    header,
                    blocks: [
                        .init(subscriptions: [1, 2], content: first), .init(subscriptions: [3], content: second),
                    ])),
            .page(.init(session: 4, subscriptions: [9], version: 899, progress: 0.25, content: first)),
        ]
        #expect(try Frame.decode(builder.finish()) == expected)
    }

    @Test func rowsThatCompressTravelCompressedAndRandomBytesDoNot() throws {
        let text = String(repeating: "compressible ", count: 500)
        let long = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: text))
        let frame = Frame.encode(long)
        #expect(frame[0] == 1)
        #expect(frame.count < 200)
        #expect(try Frame.decode(frame) == [long])

        var samples = SampleGenerator(seed: 3)
        let noise = ServerMessage.report(
            session: 1, request: 1, json: (0..<4000).map { _ in UInt8(truncatingIfNeeded: samples.next()) })
        #expect(Frame.encode(noise)[0] == 0)
        #expect(try Frame.decode(Frame.encode(noise)) == [noise])
    }

    @Test func keysThatDifferOnlyInNormalisationStayDifferent() throws {
        var block = ObjectBlock()
        for key in ["é", "e\u{301}", "é", "e\u{301}"] {
            block.append(
                BlockRow(
                    object: ObjectRef(0, .string(key)), version: 1, role: .root, properties: [0],
                    values: [.string(key)]))
        }
        let rows = try ObjectBlock(wireBytes: block.wireBytes()).rows
        #expect(
            rows.map { Array($0.object.key.description.utf8) } == [
                Array("é".utf8), Array("e\u{301}".utf8), Array("é".utf8), Array("e\u{301}".utf8),
            ])
        #expect(try ObjectBlock(wireBytes: block.wireBytes()) == block)
    }

    @Test(arguments: [
        "0", "-1.5", "123456789012345678901234567890.12345678", "0.00000000000000000000000000000000000001",
    ])
    func decimalsKeepTheirDigits(text: String) throws {
        let value = Value.decimal(try #require(Decimal(string: text)))
        #expect(try Value(wireBytes: value.wireBytes()) == value)
        #expect(value.wireBytes() == [11, UInt8(text.utf8.count)] + Array(text.utf8))
    }

    private func expectSame<Form: WireCodable & Equatable>(_ value: Form) throws {
        #expect(try Form(wireBytes: value.wireBytes()) == value)
    }
}
