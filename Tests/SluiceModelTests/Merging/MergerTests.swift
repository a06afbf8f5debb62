import SluiceModel
import Testing

struct MergerTests {
    static let object = ObjectRef(0, .int(1))

    static func classSchema() throws -> ClassSchema {
        try ClassSchema(
            "Plane", primaryKey: "id",
            properties: [Property("id", .scalar(.int)), Property("seats", .scalar(.int), default: .int(7))])
    }

    static func stamp(_ time: Int64, client: UInt64 = 5) -> WriteStamp {
        WriteStamp(timestamp: HybridTimestamp(microseconds: time), clientID: client, version: 9)
    }

    /// The seats after an operation of client 5 at time 100 on a plane of 20 seats.
    static func merge(
        _ action: ObjectOperation.Action, exists: Bool = true, _ history: ObjectHistory = ObjectHistory()
    ) throws -> (seats: Value?, superseded: Int) {
        let row = exists ? Row(key: object.key, version: 9, values: [.int(1), .int(20)]) : nil
        var merger = Merger(row, of: Merger.Template(try classSchema()))
        merger.apply(ObjectOperation(object, action), author: stamp(100), history: history)
        return (merger.row?.values[1], merger.supersededCount)
    }

    /// The log entry of one write to the seats: an assignment, or the addition of an amount.
    static func wrote(_ stamp: WriteStamp, adding amount: Int64? = nil) throws -> ObjectHistory {
        let trail = ObjectTrail()
        let partial = amount.map { [FieldOperation(1, .add(.int($0)))] } ?? []
        trail.append(WriteNote(.update, written: [1], partial: partial), stamp)
        return ObjectHistory(trail, since: 0)
    }

    @Test(arguments: [(99, 5, true), (101, 5, false), (100, 4, true), (100, 6, false)] as [(Int64, UInt64, Bool)])
    func ofTwoConcurrentAssignmentsTheLaterWinsAtOneTimeThatOfTheGreaterClient(
        time: Int64, client: UInt64, wins: Bool
    ) throws {
        let result = try Self.merge(
            .update([FieldOperation(1, .set(.int(3)))]), Self.wrote(Self.stamp(time, client: client)))
        #expect(result.seats == .int(wins ? 3 : 20))
        #expect(result.superseded == (wins ? 0 : 1))
    }

    @Test func whatIsDecidedAsItIsAlreadyStaysEdited() throws {
        let tags = PropertyType(.scalar(.string), container: .set)
        let declared = try ClassSchema(
            "Plane", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("tags", tags)])
        let edits = FieldOperation(1, .edit(ElementEdits(inserting: [.string("new")])))
        var merger = Merger(
            Row(key: Self.object.key, version: 9, values: [.int(1), .set([])]), of: Merger.Template(declared))
        merger.apply(ObjectOperation(Self.object, .update([edits])), author: Self.stamp(100), history: ObjectHistory())
        merger.decide(1, .set([.string("new")]), former: .set([]))
        #expect(merger.partial == [edits] && merger.written == [1])
        merger.decide(1, .set([.string("other")]), former: .set([]))
        #expect(merger.partial == [] && merger.written == [1])
        merger.decide(1, .set([]), former: .set([]))
        #expect(merger.written == [])
    }

    @Test(arguments: [(99, 3), (101, 13)] as [(Int64, Int64)])
    func anAssignmentKeepsTheAdditionsThatAreLaterThanIt(time: Int64, seats: Int64) throws {
        let history = try Self.wrote(Self.stamp(time, client: 6), adding: 10)
        let result = try Self.merge(.update([FieldOperation(1, .set(.int(3)))]), history)
        #expect(result.seats == .int(seats))
        #expect(result.superseded == 0)
    }

    @Test(arguments: [(99, 22, 0), (101, 20, 1)] as [(Int64, Int64, Int)])
    func anAdditionCountsOnTopOfAnEarlierAssignmentAndIsLostToALaterOne(
        time: Int64, seats: Int64, superseded: Int
    ) throws {
        let result = try Self.merge(
            .update([FieldOperation(1, .add(.int(2)))]), Self.wrote(Self.stamp(time, client: 6)))
        #expect(result.seats == .int(seats))
        #expect(result.superseded == superseded)
    }

    @Test func additionsCommute() throws {
        let history = try Self.wrote(Self.stamp(500, client: 6), adding: 10)
        #expect(try Self.merge(.update([FieldOperation(1, .add(.int(2)))]), history).seats == .int(22))
    }

    @Test func aDeleteBeatsUpdatesOnEitherSideOfIt() throws {
        #expect(try Self.merge(.delete, Self.wrote(Self.stamp(500))).seats == nil)
        let late = try Self.merge(.update([FieldOperation(1, .set(.int(3)))]), exists: false)
        #expect(late.seats == nil)
        #expect(late.superseded == 1)
    }

    @Test(arguments: [(99, true), (101, false)] as [(Int64, Bool)])
    func aCreationMakesAnObjectAnewIfItIsLaterThanTheConcurrentDelete(time: Int64, made: Bool) throws {
        let trail = ObjectTrail()
        trail.append(WriteNote(.delete), Self.stamp(time, client: 6))
        let result = try Self.merge(.create([]), exists: false, ObjectHistory(trail, since: 0))
        #expect(result.seats == (made ? .int(7) : nil))
        #expect(result.superseded == (made ? 0 : 1))
    }

    @Test func creatingAnObjectThatExistsSetsOnlyWhatIsNamedAndNeverTheKey() throws {
        #expect(try Self.merge(.create([])).seats == .int(20))
        let fields = [FieldOperation(0, .set(.int(1))), FieldOperation(1, .set(.int(3)))]
        #expect(try Self.merge(.create(fields)).seats == .int(3))
    }
}
