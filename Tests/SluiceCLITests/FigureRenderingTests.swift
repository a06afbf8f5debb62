import Sluice
import SluiceModel
import Testing

@testable import SluiceCLI

/// How what a query computes is printed.
struct FigureRenderingTests {
    @Test func aGroupIsALineWithTheNamesOfTheColumns() {
        let table = AggregateTable(
            columns: ["carrier", "@count", "@avg.delay", "@max.due"],
            rows: [
                [.string("UA"), .int(12), .double(2.5), .date(Timestamp(microseconds: 0))],
                [.null, .int(0), .null, .null], [.link(.string("AA")), .int(1), .double(.infinity), .null],
            ])
        let lines = FigureRenderer(table).lines().map { String(decoding: $0, as: UTF8.self) }
        #expect(
            lines == [
                "{\"carrier\":\"UA\",\"@count\":12,\"@avg.delay\":2.5,\"@max.due\":\"1970-01-01T00:00:00Z\"}\n",
                "{\"carrier\":null,\"@count\":0,\"@avg.delay\":null,\"@max.due\":null}\n",
                "{\"carrier\":\"AA\",\"@count\":1,\"@avg.delay\":\"Infinity\",\"@max.due\":null}\n",
            ])
    }
}
