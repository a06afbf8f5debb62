import SluiceModel
import SluiceQuery
import Testing

@testable import SluiceViews

@Suite struct ViewIndexTests {
    private func view(_ text: String) throws -> LiveView {
        LiveView(try TestSchema.query(text), schema: TestSchema.schema)
    }

    private func candidates(_ index: ViewIndex, _ object: ObjectRef, _ old: [String: Value], _ new: [String: Value])
        -> [String]
    {
        let change = ObjectDelta(
            object: object, old: TestSchema.row(object, old), new: TestSchema.row(object, new), authors: [0])
        return index.candidates(for: CommitDelta(changes: [change], version: 1)).map(\.query.canonicalText).sorted()
    }

    @Test func viewsAreFoundByRootPathAndLinkedClasses() throws {
        let own = try view("Plane WHERE seats > 3")
        let path = try view("Flight WHERE plane.seats > 3 EXCLUDE(plane, origin)")
        let linked = try view("Flight WHERE delay > 3")
        let other = try view("Flight EXCLUDE(plane)")
        var index = ViewIndex()
        for view in [own, path, linked, other] { index.insert(view) }
        let plane = TestSchema.object(1, ofClass: TestSchema.plane)
        let found = candidates(index, plane, ["seats": .int(1)], ["seats": .int(2)])
        #expect(found == [own, path, linked].map(\.query.canonicalText).sorted())
    }

    @Test func changesOfPropertiesThatNobodyReadsFindNothing() throws {
        var index = ViewIndex()
        index.insert(try view("Flight EXCLUDE(carrier)"))
        let flight = TestSchema.object(1, ofClass: TestSchema.flight)
        #expect(candidates(index, flight, ["carrier": .string("a")], ["carrier": .string("b")]).isEmpty)
        #expect(candidates(index, flight, ["delay": .int(1)], ["delay": .int(2)]).count == 1)
    }

    @Test func aRemovedViewIsFoundNoMore() throws {
        let (first, second) = (try view("Flight"), try view("Flight WHERE delay > 1"))
        var index = ViewIndex()
        index.insert(first)
        index.insert(second)
        index.remove(first)
        index.remove(first)
        #expect(index.count == 1)
        let flight = TestSchema.object(1, ofClass: TestSchema.flight)
        #expect(candidates(index, flight, ["delay": .int(1)], ["delay": .int(2)]) == [second.query.canonicalText])
    }
}
