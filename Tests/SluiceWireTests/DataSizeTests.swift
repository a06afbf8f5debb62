import SluiceModel
import TestSupport
import Testing

@testable import SluiceWire

/// What data is counted as, beside what messages make of it.
struct DataSizeTests {
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func nothingTakesMoreThanItIsCountedAs(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let declared = try EdgeValues.everything()
        for property in declared.properties {
            for _ in 0..<4 {
                let value = EdgeValues.value(of: property.type, using: &random)
                #expect(value.wireBytes().count <= value.dataSize.byteCount, "\(property.type)")
            }
        }
        let key = ObjectKey.string(random.text(Int(random.next() % 200)))
        let row = Row(
            key: key, version: random.next(),
            values: declared.properties.map { EdgeValues.value(of: $0.type, using: &random) })
        var block = ViewBlock()
        block.objects.append(row, classIndex: 3, role: .root, properties: PropertySet(all: row.values.count))
        #expect(block.wireBytes().count <= row.dataSize.byteCount + 64)
        #expect(block.wireBytes().count <= block.estimatedSize + 16)
        var limits = WireLimits.standard
        limits.elementCountMax = row.dataSize.elementCount + 8
        _ = try ViewBlock(wireBytes: block.wireBytes(), limits: limits)
        // Rows together, which columns encode in other ways.
        for _ in 0..<Int(random.next() % 40) {
            var next = row
            next.version = random.next()
            for position in row.values.indices where random.chance(50) {
                next.values[position] = EdgeValues.value(of: declared.properties[position].type, using: &random)
            }
            let properties = PropertySet(next.values.indices.filter { $0 < 5 || random.chance(70) })
            block.objects.append(next, classIndex: 3, role: .member, properties: properties)
            let left = ObjectRef(Int(random.next() % 3), .string(random.text(Int(random.next() % 1_024))))
            block.append(.init(left, role: .root, reason: .filter))
        }
        #expect(block.wireBytes().count <= block.estimatedSize + 16)
        // No element takes less than a byte.
        limits.elementCountMax = block.estimatedSize
        _ = try ViewBlock(wireBytes: block.wireBytes(), limits: limits)
        let operation = ObjectOperation(
            ObjectRef(3, key), .create(row.values.indices.map { FieldOperation($0, .set(row.values[$0])) }))
        #expect(operation.wireBytes().count <= operation.dataSize.byteCount)
        limits.elementCountMax = operation.dataSize.elementCount
        _ = try ObjectOperation(wireBytes: operation.wireBytes(), limits: limits)
    }

    @Test func editsTakeNoMoreThanTheirSizeSays() throws {
        var generator = SampleGenerator(seed: 5)
        for _ in 0..<500 {
            for operation in generator.operations() {
                let bytes = operation.wireBytes()
                #expect(bytes.count <= operation.dataSize.byteCount, "\(operation)")
                var limits = WireLimits.standard
                limits.elementCountMax = operation.dataSize.elementCount
                #expect(try ObjectOperation(wireBytes: bytes, limits: limits) == operation)
            }
        }
    }

    @Test func anInsertedElementTakesFewBytesHoweverLargeTheSetIs() {
        let element = Value.string("a tag of usual length")
        let changeset = Changeset(
            sequence: 100_000, baseVersion: 1_000_000, timestamp: HybridTimestamp(microseconds: 1_800_000_000_000_000),
            operations: [
                ObjectOperation(
                    ObjectRef(3, .id(ObjectID(high: .max, low: 7))),
                    .update([FieldOperation(9, .edit(ElementEdits(inserting: [element])))]))
            ])
        #expect(changeset.wireBytes().count <= 100)
    }

    @Test func aTransactionThatCannotBeReadIsKnownByItsSequenceAndEndsItsMessageOnly() throws {
        func changeset(_ sequence: UInt64, _ value: Value) -> Changeset {
            Changeset(
                sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: [ObjectOperation(ObjectRef(0, .int(1)), .update([FieldOperation(1, .set(value))]))])
        }
        let uploads = [changeset(1, .int(1)), changeset(2, .string("marked")), changeset(3, .int(3))]
        var bytes = Frame.encode(ClientMessage.upload(session: 1, changesets: uploads))
        let text = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("marked".utf8)) })
        // No tag of a value.
        bytes[text - 2] = 0xEE
        guard case .upload(_, let read)? = try Frame.decode(bytes, as: ClientMessage.self).first else {
            throw WireError(.malformed, "no upload", offset: 0)
        }
        #expect(read.map(\.sequence) == [1, 2])
        #expect(read[0] == uploads[0])
        #expect(read[1].operations.isEmpty && read[1].problem?.contains("cannot be read") == true)
    }

    @Test func aTransactionOfTooManyElementsIsRejectedAloneAndHasToComeAgainFromAmongOthers() throws {
        var limits = WireLimits.standard
        limits.elementCountMax = 1_000
        func changeset(_ sequence: UInt64, _ count: Int) -> Changeset {
            let list = Value.list([Value](repeating: .bool(true), count: count))
            return Changeset(
                sequence: sequence, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: [ObjectOperation(ObjectRef(0, .int(1)), .update([FieldOperation(1, .set(list))]))])
        }
        func read(_ changesets: [Changeset]) throws -> [Changeset] {
            var frame = FrameBuilder()
            frame.append(ClientMessage.upload(session: 1, changesets: changesets))
            let messages = try Frame.decode(frame.finish(), as: ClientMessage.self, limits: limits)
            guard case .upload(_, let read)? = messages.first else { return [] }
            return read
        }
        #expect(try read([changeset(1, 300), changeset(2, 300)]).map(\.problem) == [nil, nil])
        let alone = try read([changeset(1, 1_100)])
        #expect(alone.map(\.sequence) == [1] && alone[0].problem != nil)
        let error = #expect(throws: WireError.self) { try read([changeset(1, 300), changeset(2, 800)]) }
        #expect(error?.code == .limitExceeded)
    }
}
