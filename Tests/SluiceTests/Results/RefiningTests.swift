import Sluice
import Testing

#if SLUICE_MACROS
    @Model struct Flight {
        @PrimaryKey var number: Int
        var carrier: String
        var delay: Int?
        var distance = 0
    }

    /// Calls that refine a query mean the same as the corresponding clauses in text, in every order.
    @Suite struct RefiningTests {
        /// A call, and its corresponding clause; no clause for a condition.
        private enum Step: CaseIterable {
            case sortByCarrier, sortByDelay, sortByDistanceInText, distinctByCarrier, limit, exclude, `where`

            func apply(_ flights: Results<Flight>) -> Results<Flight> {
                switch self {
                case .sortByCarrier: flights.sorted(by: \.carrier)
                case .sortByDelay: flights.sorted(by: .descending(\.delay))
                case .sortByDistanceInText: flights.filter("distance < 900 SORT(distance ASC)")
                case .distinctByCarrier: flights.distinct(by: \.carrier, \.delay)
                case .limit: flights.limit(5)
                case .exclude: flights.excluding("distanceFlown")
                case .where: flights.where { $0.distance > 100 }
                }
            }
        }

        /// The text of the query of some steps, as a reader of the documentation would write it.
        private static func text(_ steps: [Step]) -> String {
            var conditions = ["TRUEPREDICATE"]
            var clauses: [(kind: String, content: String)] = []
            var excluded = ""
            func refine(_ key: String) {
                if clauses.last?.kind == "SORT" {
                    clauses[clauses.count - 1].content += ", \(key)"
                } else {
                    clauses.append(("SORT", key))
                }
            }
            for step in steps {
                switch step {
                case .sortByCarrier: refine("carrier ASC")
                case .sortByDelay: refine("delay DESC")
                case .sortByDistanceInText:
                    conditions.append("distance < 900")
                    clauses.append(("SORT", "distance ASC"))
                case .distinctByCarrier: clauses.append(("DISTINCT", "carrier, delay"))
                case .limit: clauses.append(("LIMIT", "5"))
                case .exclude: excluded = " EXCLUDE(distanceFlown)"
                case .where: conditions.append("distance > 100")
                }
            }
            let tail = clauses.map { " \($0.kind)(\($0.content))" }.joined()
            return "Flight WHERE " + conditions.joined(separator: " AND ") + tail + excluded
        }

        private static func sequences(length: Int) -> [[Step]] {
            guard length > 0 else { return [[]] }
            return sequences(length: length - 1).flatMap { start in Step.allCases.map { start + [$0] } }
        }

        let store: Store
        let flights: Results<Flight>

        init() async throws {
            let wide = try ClassSchema(
                "Flight", primaryKey: "number",
                properties: Flight.modelDefinition.classSchema.properties + [Property("distanceFlown", .scalar(.int))])
            store = try await Store.open(StoreConfiguration(schema: Schema([wide])))
            flights = store.objects(Flight.self)
            try await store.write { transaction in
                for number in 0..<24 {
                    try transaction.insert(
                        Flight(
                            number: number, carrier: ["UA", "AA", "DL"][number % 3],
                            delay: number % 4 == 0 ? nil : number % 5, distance: number * 977 % 1_200))
                }
            }
        }

        @Test(arguments: 0...3) func callsInAnyOrderMeanTheirTextAndFindTheSame(length: Int) throws {
            for steps in Self.sequences(length: length) {
                let called = steps.reduce(flights) { $1.apply($0) }
                let written = try store.records(Self.text(steps))
                #expect(try called.canonicalText == written.canonicalText, "\(steps)")
                #expect(try called.fetch().map(\.identity) == written.fetch().map(\.identity), "\(steps)")
            }
        }

        @Test func sortingAgainRefinesAndTheFirstKeyStaysTheStrongest() throws {
            let refined = flights.sorted(by: \.carrier).where { $0.delay != nil }.sorted(by: \.distance)
            #expect(
                try refined.canonicalText
                    == flights.filter("delay != NULL SORT(carrier ASC, distance ASC)").canonicalText)
            let found = try refined.fetch()
            let expected = found.sorted { ($0.carrier, $0.distance) < ($1.carrier, $1.distance) }
            #expect(found.map(\.number) == expected.map(\.number))
        }

        @Test func noKeyLeavesTheOrderAsItIs() throws {
            let sorted = flights.sorted(by: \.carrier)
            #expect(try sorted.sorted(by: []).canonicalText == sorted.canonicalText)
        }

        @Test func onePropertySortedByInBothDirectionsIsRefused() throws {
            let contradictions = [
                flights.sorted(by: \.delay).sorted(by: \.delay, ascending: false),
                flights.sorted(by: .descending(\.delay), .ascending(\.carrier), .ascending("delay")),
            ]
            for results in contradictions {
                let error = #expect(throws: QueryError.self) { try results.fetch() }
                #expect(error?.code == .repeatedSortKey)
                #expect(error?.message.contains("'delay'") == true)
            }
            // A sort after a limit is a new stage, which orders what the limit left.
            let restaged = flights.sorted(by: \.delay).limit(5).sorted(by: \.delay, ascending: false)
            #expect(try restaged.count() == 5)
        }
    }
#endif
