import Foundation
import SluiceModel
import SluiceQuery
import SluiceViews
import TestSupport
import Testing

/// The texts by which clients of the JSON form sort, against the order of queries.
struct PlaceTextTests {
    private static let values: [[Value]] = [
        [.null, .bool(false), .bool(true)],
        [.null, .int(.min), .int(-257), .int(-1), .int(0), .int(1), .int(255), .int(256), .int(.max)],
        [
            .null, .double(-.infinity), .double(-1e300), .double(-1.5), .double(-.leastNonzeroMagnitude), .double(0),
            .double(-0.0), .double(.leastNonzeroMagnitude), .double(1), .double(1.5), .double(.infinity), .double(.nan),
        ],
        [.null, .float(-1.5), .float(0), .float(0.1), .float(.greatestFiniteMagnitude), .float(.nan)],
        [
            .null, .string(""), .string("\0"), .string("\0\0"), .string("\0a"), .string("a"), .string("a\0"),
            .string("a\0b"), .string("aa"), .string("b"), .string("é"), .string("€"), .string("😀"),
        ],
        [.null, .data([]), .data([0]), .data([0, 0]), .data([0, 255]), .data([1]), .data([255]), .data([255, 0])],
        [
            .null, .date(Timestamp(microseconds: -5)), .date(Timestamp(microseconds: 0)),
            .date(Timestamp(microseconds: 7)),
        ],
        ["-340282366920938463463374607431768211455", "-1.5", "-1.25", "0", "0.001", "1", "1.5", "10", "99.5"]
            .compactMap { (try? DecimalText.parse($0)).map { .decimal($0) } },
        [
            .objectID(ObjectID(high: 0, low: 1)), .objectID(ObjectID(high: 0, low: 2)),
            .objectID(ObjectID(high: 1, low: 0)),
        ],
    ]

    @Test(arguments: values.indices) func textsOrderAsValuesDo(index: Int) {
        let id = ObjectID(high: 1, low: 1)
        for left in Self.values[index] {
            for right in Self.values[index] {
                let order = Value.compare(left, right)
                for isAscending in [true, false] {
                    let texts = [left, right].map { PlaceText.of([$0], [isAscending], id) }
                    let found = texts[0] < texts[1] ? -1 : texts[0] == texts[1] ? 0 : 1
                    #expect(found == (isAscending ? order.signum() : -order.signum()), "\(left) and \(right)")
                }
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func placesOfSeveralKeysOrderAsTheQueryDoes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let columns = (0..<3).map { _ in Self.values.randomElement(using: &generator)! }
        let isAscending = columns.map { _ in Bool.random(using: &generator) }
        let rows = (0..<40).map { _ in
            (
                values: columns.map { $0.randomElement(using: &generator)! },
                id: ObjectID(
                    high: .random(in: 0...2, using: &generator), low: .random(in: 0...2, using: &generator))
            )
        }
        for left in rows {
            for right in rows {
                var order = 0
                for (position, pair) in zip(left.values, right.values).enumerated() where order == 0 {
                    order = Value.compare(pair.0, pair.1).signum() * (isAscending[position] ? 1 : -1)
                }
                if order == 0 { order = left.id < right.id ? -1 : left.id == right.id ? 0 : 1 }
                let texts = [left, right].map { PlaceText.of($0.values, isAscending, $0.id) }
                let found = texts[0] < texts[1] ? -1 : texts[0] == texts[1] ? 0 : 1
                #expect(found == order)
                #expect(texts[0].utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            }
        }
    }
}
