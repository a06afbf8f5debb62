import Foundation
import Sluice
import Testing

#if SLUICE_MACROS
    enum LegStatus: String, PropertyElement { case open, boarding, gone }

    @Model struct Aircraft {
        @PrimaryKey var tail: String
        var seats = 0
        var year: Int?
        var maker: String?
    }

    @Model struct Leg {
        @PrimaryKey var number: Int
        var delay: Int?
        var arrivalDelay: Int?
        var distance = 0
        var airTime: Double?
        var price = 0.0
        var weight: Float = 0
        var fee: Decimal = 0
        var origin = ""
        var destination: String?
        var scheduled = Date(timeIntervalSince1970: 0)
        var actual: Date?
        var status: LegStatus = .open
        var earlier: LegStatus?
        var seen: [LegStatus] = []
        var states: [String: LegStatus] = [:]
        var samples: [Int?] = []
        var aircraft: Link<Aircraft>?
        var connections: Links<Leg> = []
    }

    /// Conditions as long as those of programs, each with its text. The target is compiled with a low bound on the type
    /// checker's work, so that a condition that takes long to check does not compile.
    @Suite struct LongClauseTests {
        let store: Store
        let legs: Results<Leg>
        let limit = 5
        let factor = 1.5
        let noon = Date(timeIntervalSince1970: 43_200)

        init() async throws {
            store = try await Store.open(StoreConfiguration(models: [Leg.self, Aircraft.self]))
            legs = store.objects(Leg.self)
        }

        private func expect(_ typed: Results<Leg>, is text: String, _ arguments: (any PropertyValue)?...) throws {
            #expect(try typed.canonicalText == legs.filterAll(text, arguments).canonicalText)
        }

        @Test func twelveConditionsOfManyTypesMeanTheirText() throws {
            let found = legs.where {
                $0.distance > 100 && $0.price < 9_000 && $0.origin == "JFK" && $0.destination != "LAX"
                    && $0.status == .open && $0.earlier == .boarding && $0.delay == nil && $0.arrivalDelay != nil
                    && $0.aircraft.seats > 100 && $0.aircraft.maker == "Boeing" && $0.distance == limit
                    && $0.actual > noon
            }
            try expect(
                found,
                is: """
                    distance > 100 AND price < 9000 AND origin == 'JFK' AND destination != 'LAX' AND status == 'open'
                    AND earlier == 'boarding' AND delay == NULL AND arrivalDelay != NULL AND aircraft.seats > 100
                    AND aircraft.maker == 'Boeing' AND distance == 5 AND actual > $0
                    """, noon)
        }

        @Test func twelveCalculationsWithMixedAndOptionalNumbersMeanTheirText() throws {
            let found = legs.where {
                $0.delay + 5 > 10 && $0.delay - $0.arrivalDelay > 15 && $0.distance / $0.airTime * 60 > 500
                    && $0.price * 1.25 + 500 < 12_000 && $0.delay * factor < $0.price && $0.delay + limit >= 3
                    && $0.distance < 2.5 && $0.actual > $0.scheduled && $0.aircraft.year + 10 < 2013
                    && 2 * $0.delay > $0.distance - 3 && $0.fee * 2 > 5 && $0.weight / 2 <= $0.connections.count
            }
            try expect(
                found,
                is: """
                    delay + 5 > 10 AND delay - arrivalDelay > 15 AND distance / airTime * 60 > 500
                    AND price * 1.25 + 500 < 12000 AND delay * 1.5 < price AND delay + 5 >= 3
                    AND distance < 2.5 AND actual > scheduled AND aircraft.year + 10 < 2013
                    AND 2 * delay > distance - 3 AND fee * 2 > 5 AND weight / 2 <= connections.@count
                    """)
        }

        @Test func aggregatesAndSubqueriesInLongConditionsMeanTheirText() throws {
            let found = legs.where {
                30 + $0.distance < ($0.delay + $0.arrivalDelay) / 2
                    && $0.connections.sum(of: \.delay) + $0.distance > 100
                    && $0.connections.average(of: \.delay) * 2 > $0.delay + 5
                    && $0.connections.count { $0.delay + 5 > 10 && $0.distance / 2 > $0.airTime * 1.5 } > 1
                    && $0.connections.max(of: \.delay) - 3 > $0.aircraft.seats / 2
                    && ($0.price + 1) * 2 - $0.distance * 3 + $0.delay / 4 != 0 && $0.samples.max > 3
                    || $0.status == .gone || $0.delay.between(1...5) || $0.earlier.in([.open, nil])
                    || $0.seen.any == .gone && $0.seen.contains(.open) && $0.states["a"] == .open
            }
            try expect(
                found,
                is: """
                    (30 + distance < (delay + arrivalDelay) / 2 AND connections.@sum.delay + distance > 100
                    AND connections.@avg.delay * 2 > delay + 5
                    AND SUBQUERY(connections, $x, $x.delay + 5 > 10 AND $x.distance / 2 > $x.airTime * 1.5).@count > 1
                    AND connections.@max.delay - 3 > aircraft.seats / 2
                    AND (price + 1) * 2 - distance * 3 + delay / 4 != 0 AND samples.@max > 3)
                    OR status == 'gone' OR delay BETWEEN {1, 5} OR earlier IN {'open', NULL}
                    OR (ANY seen == 'gone' AND ANY seen == 'open' AND states['a'] == 'open')
                    """)
        }

        @Test func longChainsOfOneOperatorMeanTheirText() throws {
            let found = legs.where {
                6 + ($0.delay + 1) + ($0.arrivalDelay + 2) + ($0.distance + 3) + ($0.price + 4) > ($0.weight + 5)
                    && $0.delay + 1 + 2 + 3 + 4 + 5 + 6 * 2 > 0 && $0.delay * 2 > $0.distance * 3
                    && $0.delay * 2.5 > $0.distance * 3 && $0.delay + 1 - 2 + 3 - 4 + 5 - 6 > 0
            }
            try expect(
                found,
                is: """
                    6 + (delay + 1) + (arrivalDelay + 2) + (distance + 3) + (price + 4) > (weight + 5)
                    AND delay + 1 + 2 + 3 + 4 + 5 + 12 > 0 AND delay * 2 > distance * 3
                    AND delay * 2.5 > distance * 3 AND delay + 1 - 2 + 3 - 4 + 5 - 6 > 0
                    """)
        }

        @Test func numbersOfOtherTypesThanThePropertysCompareAsInText() throws {
            try expect(legs.where { $0.delay < 2.5 || $0.delay == $0.price }, is: "delay < 2.5 OR delay == price")
            try expect(legs.where { $0.delay.between(1.5...2) }, is: "delay BETWEEN {1.5, 2}")
            let delays = [1, 2]
            try expect(
                legs.where { $0.delay.in(delays) && $0.price.in(delays) }, is: "delay IN {1, 2} AND price IN {1, 2}")
            try expect(legs.where { $0.delay + Int.max > 3 }, is: "delay + 9223372036854775807 > 3")
        }

        @Test func aCalculationFindsWhatItsTextFinds() async throws {
            try await store.write { transaction in
                for number in 0..<40 {
                    let delay = number % 3 == 0 ? nil : number
                    try transaction.insert(
                        Leg(number: number, delay: delay, distance: number * 7 % 11, price: Double(number) / 4))
                }
            }
            let typed = try legs.where { $0.delay + 5 > $0.distance * 2.5 && $0.delay / 2 < $0.price * 3 }.fetch()
            let written = try legs.filter("delay + 5 > distance * 2.5 AND delay / 2 < price * 3").fetch()
            #expect(!typed.isEmpty)
            #expect(typed.map(\.number) == written.map(\.number))
        }
    }

    extension Results {
        fileprivate func filterAll(_ text: String, _ arguments: [(any PropertyValue)?]) -> Results {
            arguments.isEmpty ? filter(text) : filter(text, arguments[0])
        }
    }
#endif
