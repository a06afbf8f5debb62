import SluiceModel
import SluiceServer
import SluiceWire
import Testing

/// Results that are known to be small are read by the writer at once; others beside it.
@Suite struct SmallResultTests {
    private let herd: Herd

    init() throws {
        herd = try Herd(planeCount: 300, isFile: true) {
            $0.pageRowCount = 2_000
            $0.server.pageCreditMax = 100
            $0.objectCountBeside = 100
        }
        herd.delaysReadings = true
    }

    @Test(arguments: [
        ("Plane WHERE id < 7 EXCLUDE(note)", 7), ("Plane WHERE seats == 5 EXCLUDE(note)", 0),
        ("Plane WHERE id < 99 SORT(seats DESC) EXCLUDE(note)", 99),
        ("Plane SORT(seats DESC) LIMIT(20) EXCLUDE(note)", 20), ("Plane WHERE id == 3 EXCLUDE(note)", 1),
    ])
    func smallOnesAreThereAtOnce(query: String, count: Int) throws {
        try herd.join(query)
        #expect(herd.readings.isEmpty && herd.readers[0].isComplete)
        #expect(herd.readers[0].seats.count == count)
    }

    @Test(arguments: [
        "Plane EXCLUDE(note)", "Plane WHERE id < 100 EXCLUDE(note)", "Plane SORT(seats ASC) EXCLUDE(note)",
    ])
    func othersAreReadBesideTheWriter(query: String) throws {
        try herd.join(query)
        #expect(herd.readings.count == 1 && !herd.readers[0].isComplete)
        try herd.read()
        #expect(herd.readers[0].isComplete && herd.readers[0].seats.count >= 100)
    }
}
