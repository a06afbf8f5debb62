import SluiceModel
import TestSupport
import Testing

@testable import SluiceWire

@Suite(.ownThread) struct HostileInputTests {
    @Test(arguments: Array(1...12) as [UInt64])
    func frameCutAtAnyByteIsAnError(seed: UInt64) {
        var samples = SampleGenerator(seed: seed)
        let client = Frame.encode(samples.clientMessage())
        for length in 0..<client.count where length != 1 {
            #expect(throws: WireError.self, "cut to \(length)") {
                try Frame.decode(Array(client[..<length]), as: ClientMessage.self)
            }
        }
        let server = Frame.encode(samples.anyServerMessage())
        for length in 0..<min(server.count, 3000) where length != 1 {
            #expect(throws: WireError.self, "cut to \(length)") {
                try Frame.decode(Array(server[..<length]), as: ServerMessage.self)
            }
        }
    }

    @Test(arguments: Array(1...40) as [UInt64])
    func mutatedFramesDecodeOrThrowAndWhatDecodesEncodesAgain(seed: UInt64) throws {
        var samples = SampleGenerator(seed: seed)
        var rejected = 0
        for _ in 0..<60 {
            let isClient = samples.bool()
            // Without compression, so that mutations reach the codecs.
            var writer = ByteWriter()
            writer.byte(0)
            if isClient {
                samples.clientMessage().encode(into: &writer)
            } else {
                samples.anyServerMessage().encode(into: &writer)
            }
            for _ in 0..<20 {
                var bytes = writer.bytes
                for _ in 0...samples.below(3) {
                    let position = samples.below(bytes.count)
                    switch samples.below(4) {
                    case 0: bytes[position] = UInt8(truncatingIfNeeded: samples.next())
                    case 1: bytes[position] ^= 1 << UInt8(samples.below(8))
                    case 2: bytes.remove(at: position)
                    default: bytes.insert(samples.pick([0, 1, 0x7F, 0x80, 0xFF]), at: position)
                    }
                    if bytes.isEmpty { bytes = [0] }
                }
                do {
                    if isClient {
                        let messages = try Frame.decode(bytes, as: ClientMessage.self)
                        try expectStable(messages)
                    } else {
                        let messages = try Frame.decode(bytes, as: ServerMessage.self)
                        try expectStable(messages)
                    }
                } catch {
                    rejected += 1
                }
            }
        }
        #expect(rejected > 0)
    }

    @Test func randomBytesAreNoFrames() {
        var samples = SampleGenerator(seed: 5)
        for _ in 0..<3000 {
            let bytes = [UInt8(samples.below(2))] + samples.data()
            _ = try? Frame.decode(bytes, as: ServerMessage.self)
            _ = try? Frame.decode(bytes, as: ClientMessage.self)
            _ = try? Row(wireBytes: bytes)
            _ = try? Schema(wireBytes: bytes)
        }
    }

    @Test func countsBeyondWhatIsThereAreRefusedBeforeAllocation() {
        // A list of 2^62 values.
        let list: [UInt8] = [13, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 0]
        expectError(.truncated) { try Value(wireBytes: list) }
        // A string of 2^62 bytes.
        expectError(.truncated) { try Value(wireBytes: [6] + list.dropFirst()) }
    }

    @Test func rowsThatCostNoBytesAreLimited() {
        // Two properties, both null, for 2^32 rows whose keys and versions are constant.
        var writer = ByteWriter()
        writer.varint(1)
        writer.varint(0)
        writer.byte(0)
        PropertySet([0, 1]).encode(into: &writer)
        writer.varint(UInt64(1) << 32)
        writer.raw([2, 0, 2, 0, 2, 0, 0])
        expectError(.limitExceeded) { try ObjectBlock(wireBytes: writer.bytes) }
    }

    @Test func elementsThatCostNoBytesAreLimited() {
        // One row, whose list has 2^40 null elements.
        var writer = ByteWriter()
        writer.varint(1)
        writer.varint(0)
        writer.byte(0)
        PropertySet([0]).encode(into: &writer)
        writer.varint(1)
        writer.raw([2, 0, 2, 0, 2])
        writer.byte(15)
        writer.byte(0)
        writer.zigzag(1 << 40)
        writer.byte(0)
        expectError(.limitExceeded) { try ObjectBlock(wireBytes: writer.bytes) }
    }

    @Test func codesThatAreNoneAreRefused() {
        func decode(_ bytes: [UInt8], count: Int = 20) throws {
            _ = try ByteReader.decode(bytes) { reader throws(WireError) in
                try IntegerSequence.decode(count: count, from: &reader)
            }
        }
        // An order beyond 31, 32 zeros, and an order and a zero that are too much together.
        expectError(.malformed) { try decode([5, 0, 32] + Array(repeating: 0xFF, count: 200)) }
        expectError(.malformed) { try decode([5, 0, 0] + Array(repeating: 0, count: 200)) }
        expectError(.malformed) { try decode([5, 0, 31, 2] + Array(repeating: 0, count: 200)) }
        // Fewer bits than codes, before anything is allocated, and a last code that is cut.
        expectError(.truncated) { try decode([5, 0, 0, 0xFF], count: 1 << 40) }
        expectError(.truncated) { try decode([6, 0, 0, 0, 0xFF], count: 1 << 40) }
        expectError(.truncated) { try decode([5, 0, 0, 0xFF, 0xFF, 0x80], count: 20) }
        expectError(.malformed) { try decode([7, 2, 0, 7, 2, 0, 0, 2]) }
    }

    @Test func entriesThatShareWhatIsNotThereOrTooMuchAreRefused() {
        func decode(_ bytes: [UInt8], count: Int, limits: WireLimits = .standard) throws {
            _ = try ByteReader.decode(bytes, limits: limits) { reader throws(WireError) in
                try WireColumn.decode(count: count, from: &reader)
            }
        }
        /// Two texts, the first of which is two bytes, and the second begins with bytes of it and has no others.
        func two(_ first: String, firstShares: Int64 = 0, secondShares: Int64) -> [UInt8] {
            var writer = ByteWriter()
            writer.raw([5, 2, 2])
            IntegerSequence.encode([firstShares, secondShares], into: &writer)
            IntegerSequence.encode([2, 0], into: &writer)
            writer.raw(Array(first.utf8))
            IntegerSequence.encode([0, 1], into: &writer)
            return writer.bytes
        }
        #expect(throws: Never.self) { try decode(two("ab", secondShares: 1), count: 2) }
        expectError(.malformed) { try decode(two("ab", secondShares: 3), count: 2) }
        expectError(.malformed) { try decode(two("ab", firstShares: 1, secondShares: 1), count: 2) }
        expectError(.malformed) { try decode(two("ab", secondShares: -1), count: 2) }
        // Half of "é" is no text.
        expectError(.malformed) { try decode(two("é", secondShares: 1), count: 2) }
        // A thousand entries, each of which is the first again, in texts and in data.
        for kind in [5, 6] as [UInt8] {
            var writer = ByteWriter()
            writer.byte(kind)
            writer.byte(2)
            writer.varint(1000)
            IntegerSequence.encode([0] + Array(repeating: 500, count: 999), into: &writer)
            IntegerSequence.encode([500] + Array(repeating: 0, count: 999), into: &writer)
            writer.raw(Array(repeating: 0x61, count: 500))
            IntegerSequence.encode((0..<1000).map { $0 }, into: &writer)
            #expect(throws: Never.self) { try decode(writer.bytes, count: 1000) }
            expectError(.limitExceeded) {
                try decode(writer.bytes, count: 1000, limits: WireLimits(expandedLengthMax: 999 * 500 - 1))
            }
        }
    }

    @Test func numbersThatAreNotInTextsOrTooManyAreRefused() {
        func decode(
            _ prefix: String, digits: UInt8, _ numbers: [Int64], kind: UInt8 = 5, limits: WireLimits = .standard
        ) throws {
            var writer = ByteWriter()
            writer.raw([kind, 3])
            writer.varint(prefix.utf8.count)
            writer.raw(Array(prefix.utf8))
            writer.byte(digits)
            IntegerSequence.encode(numbers, into: &writer)
            _ = try ByteReader.decode(writer.bytes, limits: limits) { reader throws(WireError) in
                try WireColumn.decode(count: numbers.count, from: &reader)
            }
        }
        #expect(throws: Never.self) { try decode("a", digits: 2, [0, 99]) }
        #expect(throws: Never.self) { try decode("", digits: 0, [0, 999_999_999_999_999_999]) }
        expectError(.malformed) { try decode("a", digits: 2, [0, 100]) }
        expectError(.malformed) { try decode("a", digits: 2, [0, -1]) }
        expectError(.malformed) { try decode("a", digits: 0, [0, -1]) }
        expectError(.malformed) { try decode("a", digits: 0, [0, 1_000_000_000_000_000_000]) }
        expectError(.malformed) { try decode("a", digits: 19, [0, 1]) }
        expectError(.truncated) {
            try ByteReader.decode([5, 3, 9, 0x61]) { reader throws(WireError) in
                _ = try WireColumn.decode(count: 2, from: &reader)
            }
        }
        // A thousand texts of 500 bytes, as texts and as data.
        let long = String(repeating: "a", count: 499)
        for kind in [5, 6] as [UInt8] {
            let ones = Array(repeating: Int64(1), count: 1000)
            #expect(throws: Never.self) { try decode(long, digits: 1, ones, kind: kind) }
            expectError(.limitExceeded) {
                try decode(long, digits: 1, ones, kind: kind, limits: WireLimits(expandedLengthMax: 1000 * 500 - 1))
            }
        }
    }

    @Test func aValueBesideTheEditsThatLeadToItIsRefused() throws {
        func block(_ value: Value) -> [UInt8] {
            func column(_ value: Value, into writer: inout ByteWriter) {
                [value].withUnsafeBufferPointer {
                    WireColumn.encode(ColumnCells($0, first: 0, stride: 1, count: 1), into: &writer)
                }
            }
            var writer = ByteWriter()
            writer.varint(1)
            writer.varint(0)
            writer.byte(RowRole.member.rawValue | 0x10)
            PropertySet([0]).encode(into: &writer)
            writer.varint(1)
            column(.int(7), into: &writer)
            IntegerSequence.encode([1], into: &writer)
            column(value, into: &writer)
            writer.array([ListNote(row: 0, column: 0, .edits(ListEdits()))]) { $1.encode(into: &$0) }
            return writer.bytes
        }
        #expect(try ObjectBlock(wireBytes: block(.list([]))).groups.contains { !$0.notes.isEmpty })
        expectError(.malformed) { try ObjectBlock(wireBytes: block(.list([.int(1)]))) }
        expectError(.malformed) { try ObjectBlock(wireBytes: block(.null)) }
    }

    @Test func theBudgetIsSharedByAllBlocksOfAFrame() throws {
        var block = ObjectBlock()
        for index in 0..<100 { block.append(ObjectRef(0, .int(Int64(index))), version: 1, role: .root) }
        let content = SharedBlock(ViewBlock(objects: block))
        func frame(blocks: Int) -> [UInt8] {
            var builder = FrameBuilder()
            builder.appendCommit(
                CommitHeader(session: 1, version: 1, acceptedAt: Timestamp(microseconds: 0)),
                blocks: (0..<blocks).map { ([UInt64($0)], content) })
            return builder.finish()
        }
        let limits = WireLimits(elementCountMax: 1000)
        #expect(try Frame.decode(frame(blocks: 4), as: ServerMessage.self, limits: limits).count == 1)
        expectError(.limitExceeded) { try Frame.decode(frame(blocks: 5), as: ServerMessage.self, limits: limits) }
    }

    @Test func messagesCountAsElementsAndTheirNumberIsLimited() throws {
        func frame(messages: Int, type: UInt8 = 0x09) -> [UInt8] {
            [0] + (0..<messages).flatMap { _ in [2, type, 1] as [UInt8] }
        }
        let most = WireLimits.standard.messageCountMax
        #expect(try Frame.decode(frame(messages: most), as: ClientMessage.self).count == most)
        expectError(.limitExceeded) { try Frame.decode(frame(messages: most + 1), as: ClientMessage.self) }
        // The limit also counts messages that a reader skips.
        #expect(try Frame.decode(frame(messages: most, type: 0x7F), as: ClientMessage.self).isEmpty)
        expectError(.limitExceeded) { try Frame.decode(frame(messages: most + 1, type: 0x7F), as: ClientMessage.self) }
        let limits = WireLimits(elementCountMax: 1000)
        expectError(.limitExceeded) { try Frame.decode(frame(messages: 1000), as: ClientMessage.self, limits: limits) }
        // PROTOCOL.md, section 11.
        #expect(try Frame.decode(frame(messages: 100), as: ClientMessage.self, limits: limits).count == 100)
    }

    @Test func theSizeOfADecodedFrameCountsWhatItExpandsTo() throws {
        let query = String(repeating: "a long query ", count: 10_000)
        let message = ClientMessage.subscribe(.init(session: 1, subscription: 1, query: query))
        let frame = Frame.encode(message)
        #expect(frame.count < 10_000)
        let (messages, byteCount) = try Frame.decodeMeasured(frame, as: ClientMessage.self)
        #expect(messages == [message])
        #expect(byteCount > query.utf8.count)
    }

    @Test func compressedContentBeyondTheLimitOrTheRatioIsRefused() {
        var writer = ByteWriter()
        writer.byte(1)
        writer.varint(65 << 20)
        writer.raw(Array(repeating: 0, count: 1 << 20))
        expectError(.limitExceeded) { try Frame.decode(writer.bytes, as: ClientMessage.self) }
        writer = ByteWriter()
        writer.byte(1)
        writer.varint(60 << 20)
        writer.raw([1, 2, 3])
        expectError(.malformed) { try Frame.decode(writer.bytes, as: ClientMessage.self) }
        writer = ByteWriter()
        writer.byte(1)
        writer.varint(500)
        writer.raw([0xF0, 1, 2, 3])
        expectError(.malformed) { try Frame.decode(writer.bytes, as: ClientMessage.self) }
    }

    @Test func expansionIsLimitedOverAllBlocksOfAFrame() throws {
        var block = ObjectBlock()
        for index in 0..<50 {
            block.append(
                BlockRow(
                    object: ObjectRef(0, .int(Int64(index))), version: 1, role: .root, properties: [0],
                    values: [.string("in row \(index) some text that is different")]))
        }
        let content = SharedBlock(ViewBlock(objects: block))
        try #require(content.bytes[0] == 1)
        var builder = FrameBuilder()
        for _ in 0..<3 {
            builder.appendPage(session: 1, subscriptions: [1], version: 1, progress: 0, content: content)
        }
        let frame = builder.finish()
        #expect(try Frame.decode(frame, as: ServerMessage.self).count == 3)
        let limits = WireLimits(expandedLengthMax: 5000)
        expectError(.limitExceeded) { try Frame.decode(frame, as: ServerMessage.self, limits: limits) }
    }

    @Test func nestingBeyondTheLimitIsRefused() throws {
        func nested(_ depth: Int) -> [UInt8] { (0..<depth).flatMap { _ in [13, 1] as [UInt8] } + [0] }
        #expect(try Value(wireBytes: nested(8)).kindName == "list")
        expectError(.limitExceeded) { try Value(wireBytes: nested(9)) }
        expectError(.limitExceeded) { try Value(wireBytes: nested(100_000)) }
    }

    @Test func framesLongerThanTheLimitAreRefused() {
        let bytes = [UInt8](repeating: 0, count: 101)
        expectError(.limitExceeded) {
            try Frame.decode(bytes, as: ClientMessage.self, limits: WireLimits(frameLengthMax: 100))
        }
    }

    @Test func unknownMessageIsAnErrorUnlessItMayBeSkipped() throws {
        expectError(.unknownMessage) { try Frame.decode([0, 3, 0x3F, 1, 42], as: ClientMessage.self) }
        let known = Frame.encode(ClientMessage.close(session: 7))
        let frame = [0, 3, 0x7F, 1, 42] + known.dropFirst()
        #expect(try Frame.decode(frame, as: ClientMessage.self) == [.close(session: 7)])
        expectError(.unknownMessage) { try Frame.decode(known, as: ServerMessage.self) }
    }

    @Test func mapKeysOutOfOrderAreRefusedAndSetsAreSorted() throws {
        expectError(.malformed) { try Value(wireBytes: [15, 2, 1, 0x62, 0, 1, 0x61, 0]) }
        #expect(try Value(wireBytes: [14, 3, 3, 4, 3, 2, 3, 4]) == .set([.int(1), .int(2)]))
    }

    @Test func schemasThatTheModelRefusesAreRefused() {
        // One class named "1".
        expectError(.malformed) { try Schema(wireBytes: [1, 1, 0x31, 0, 0]) }
    }

    private func expectStable(_ messages: [some WireMessage & Equatable]) throws {
        // What was lost of an upload cannot be encoded again.
        guard messages.allSatisfy({ ($0 as? ClientMessage)?.isWhole ?? true }) else { return }
        var builder = FrameBuilder()
        for message in messages { builder.append(message) }
        #expect(try Frame.decode(builder.finish()) == messages)
    }

    private func expectError(
        _ code: WireError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> some Any
    ) {
        let error = #expect(throws: WireError.self, sourceLocation: sourceLocation) { _ = try body() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }
}
