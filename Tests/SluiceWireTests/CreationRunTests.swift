import SluiceModel
import TestSupport
import Testing

@testable import SluiceWire

/// Creations that follow each other travel by column.
@Suite(.ownThread) struct CreationRunTests {
    private static func changeset(_ operations: [ObjectOperation]) -> Changeset {
        Changeset(
            sequence: 7, baseVersion: 3, timestamp: HybridTimestamp(microseconds: 1),
            operations: operations)
    }

    private static func creation(_ number: Int, _ values: [Value]? = nil, classIndex: Int = 0)
        -> ObjectOperation
    {
        let values = values ?? [.string("Toyota"), .int(Int64(number)), .double(0.5)]
        let fields = values.enumerated().map { FieldOperation($0.offset + 1, .set($0.element)) }
        return ObjectOperation(ObjectRef(classIndex, .string("car \(number)")), .create(fields))
    }

    @Test func manyCreationsTakeFewBytesAndComeBackAsTheyWere() throws {
        let changeset = Self.changeset((0..<1_000).map { Self.creation($0) })
        let bytes = changeset.wireBytes()
        #expect(bytes.count * 3 < changeset.operations.reduce(0) { $0 + $1.wireBytes().count })
        #expect(try Changeset(wireBytes: bytes) == changeset)
    }

    @Test(arguments: 0..<60) func changesetsOfAnyOperationsComeBackAsTheyWere(seed: UInt64) throws {
        var generator = SampleGenerator(seed: seed)
        let changeset = Self.changeset(generator.creations())
        #expect(try Changeset(wireBytes: changeset.wireBytes()) == changeset)
    }

    /// The numbers of creations before and after another operation, which a run must not swallow.
    @Test(arguments: [(15, 0), (16, 0), (15, 15), (16, 16), (40, 3)])
    func onlyCreationsOfOneFormMakeARun(before: Int, after: Int) throws {
        let others = [
            ObjectOperation(ObjectRef(0, .string("x")), .delete),
            ObjectOperation(ObjectRef(0, .string("x")), .update([FieldOperation(1, .set(.int(1)))])),
            Self.creation(99, classIndex: 1), Self.creation(99, [.int(1)]),
            ObjectOperation(ObjectRef(0, .string("x")), .create([FieldOperation(1, .add(.int(1)))])),
            ObjectOperation(
                ObjectRef(0, .string("x")),
                .create([3, 2, 1].map { FieldOperation($0, .set(.int(1))) })),
        ]
        for other in others {
            let operations =
                (0..<before).map { Self.creation($0) } + [other]
                + (100..<100 + after).map { Self.creation($0) }
            let changeset = Self.changeset(operations)
            #expect(try Changeset(wireBytes: changeset.wireBytes()) == changeset)
        }
    }

    @Test func aRunTakesNoMoreThanItsOperationsCountFor() throws {
        let creations = (0..<500).map { Self.creation($0) }
        let size = creations.reduce(DataSize()) { $0 + $1.dataSize }
        let changeset = Self.changeset(creations)
        #expect(changeset.wireBytes().count <= size.byteCount + 16)
        var limits = WireLimits.standard
        limits.elementCountMax = size.elementCount
        #expect(try Changeset(wireBytes: changeset.wireBytes(), limits: limits) == changeset)
        limits.elementCountMax -= 1
        #expect(throws: WireError.self) {
            try Changeset(wireBytes: changeset.wireBytes(), limits: limits)
        }
    }

    /// Few bytes that would become many times as many.
    @Test(arguments: [Value.string(String(repeating: "x", count: 20_000)), .data([UInt8](repeating: 1, count: 20_000))])
    func aValueThatManyCreationsShareCountsForEach(value: Value) throws {
        var limits = WireLimits.standard
        limits.expandedLengthMax = 1 << 20
        let changeset = Self.changeset((0..<60).map { Self.creation($0, [value]) })
        let bytes = changeset.wireBytes()
        #expect(bytes.count < 30_000)
        let error = #expect(throws: WireError.self) { try Changeset(wireBytes: bytes, limits: limits) }
        #expect(error?.code == .limitExceeded)
        let few = Self.changeset(Array(changeset.operations.prefix(40)))
        #expect(try Changeset(wireBytes: few.wireBytes(), limits: limits) == few)
    }

    /// Every third creation has a default, which somebody else's value has precedence over.
    @Test func defaultsTakeABitEachAndComeBackAsTheyWere() throws {
        func creation(_ number: Int, _ hasDefault: Bool) -> ObjectOperation {
            let seats = Value.int(4)
            return ObjectOperation(
                ObjectRef(0, .int(Int64(number))),
                .create([
                    FieldOperation(1, .set(.int(Int64(number)))),
                    FieldOperation(2, hasDefault ? .setDefault(seats) : .set(seats)),
                ]))
        }
        let some = Self.changeset((0..<1_001).map { creation($0, $0 % 3 == 0) })
        let none = Self.changeset((0..<1_001).map { creation($0, false) })
        #expect(try Changeset(wireBytes: some.wireBytes()) == some)
        // The set of properties has two bytes.
        #expect(some.wireBytes().count == none.wireBytes().count + 2 + (1_001 + 7) / 8)
    }

    @Test func defaultsOfPropertiesThatARunDoesNotSetAreRefused() {
        // A run of one creation of class 0 that sets property 1 and says of property 2 that it is a default.
        let bytes: [UInt8] = [7, 3, 2, 1, 4, 0, 1, 2, 1, 1, 4, 1]
        let error = #expect(throws: WireError.self) { try Changeset(wireBytes: bytes) }
        #expect(error?.message.contains("defaults of properties") == true)
    }

    @Test func aRunOfNothingIsRefused() {
        let bytes: [UInt8] = [7, 3, 2, 1, 3, 0, 0, 0, 0, 0]
        #expect(throws: WireError.self) { try Changeset(wireBytes: bytes) }
    }
}
