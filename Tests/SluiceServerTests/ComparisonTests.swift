import SluiceModel
import SluiceWire
import Testing

@testable import SluiceServer

@Suite struct ComparisonTests {
    private let schema: Schema

    init() throws {
        schema = try Schema([
            ClassSchema("Car", primaryKey: "id", properties: [Property("id", .scalar(.int))])
        ])
    }

    private func block(_ keys: ClosedRange<Int64>) -> ObjectBlock {
        var block = ObjectBlock()
        for key in keys { block.append(ObjectRef(0, .int(key)), version: 1, role: .root) }
        return block
    }

    @Test func whoHasAnnouncedNothingTakesOfTheRoomOfItsSession() throws {
        let comparison = Comparison(announcedCount: 2, isAnnounced: false)
        try comparison.add(block(1...2), schema: schema, room: 3)
        #expect(comparison.announcedCount == 2)
        try comparison.add(block(3...5), schema: schema, room: 3)
        #expect(comparison.announcedCount == 5 && comparison.known?.count == 5)
    }

    @Test func aListForWhichThereIsNoRoomIsDropped() throws {
        let comparison = Comparison(announcedCount: 2, isAnnounced: false)
        try comparison.add(block(1...3), schema: schema, room: 0)
        #expect(comparison.announcedCount == 2 && comparison.known == nil)
        try comparison.add(block(4...9), schema: schema, room: 100)
        #expect(comparison.announcedCount == 2 && comparison.known == nil)
    }

    @Test func whoListsMoreThanAnnouncedIsRefused() throws {
        let comparison = Comparison(announcedCount: 2, isAnnounced: true)
        try comparison.add(block(1...2), schema: schema, room: 9)
        #expect(throws: SessionEnd.self) { try comparison.add(block(3...3), schema: schema, room: 9) }
    }

    @Test func aListWithValuesIsRefused() throws {
        let comparison = Comparison(announcedCount: 2, isAnnounced: false)
        var block = ObjectBlock()
        block.append(ObjectRef(0, .int(1)), version: 1, role: .member)
        #expect(throws: SessionEnd.self) { try comparison.add(block, schema: schema, room: 9) }
    }
}
