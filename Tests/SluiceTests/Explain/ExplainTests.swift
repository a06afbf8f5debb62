import Sluice
import SluiceModel
import SluiceTesting
import SluiceViews
import Testing

#if SLUICE_MACROS
    @Model private struct Parcel {
        @PrimaryKey var code: String
        var city = ""
        @Indexed var weight = 0
        var note = ""
        var sender: Link<Party>?
    }

    @Model private struct Party {
        @PrimaryKey var name: String
        var town = ""
    }

    /// Explanations of queries by the local store and by a server.
    @Suite(.timeLimit(.minutes(10))) struct ExplainTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open([Parcel.self, Party.self])
            try await store.write { tx in
                for number in 0..<20 { try tx.upsert(Parcel(code: "P\(number)", weight: number)) }
            }
            try await store.uploaded()
        }

        private func parcels(_ text: String) -> Results<Parcel> { store.objects(Parcel.self).filter(text) }

        @Test func spellingsOfAQueryAreOneTextAndOneHashHereAndThere() async throws {
            let first = parcels("4711 < weight && city = 'Ulm'")
            let second = parcels("city == \"Ulm\" AND weight > 4711.0")
            let other = parcels("city == \"Ulm\" AND weight > 4712")
            let explanation = try first.explain()
            #expect(explanation.query == #"Parcel WHERE city == "Ulm" AND weight > 4711"#)
            #expect(try second.explain() == explanation)
            #expect(try await first.explainOnServer().query == explanation.query)
            #expect(try await second.explainOnServer().hash == explanation.hash)
            #expect(explanation.hash == SHA256.truncatedID(of: Array(explanation.query.utf8)).description)
            #expect(try other.explain().hash != explanation.hash)
        }

        @Test func theSQLHasPlaceholdersAndNoConstants() async throws {
            let results = parcels("city == 'Zürich' AND weight IN {4711, 4712}").sorted(by: "weight", ascending: false)
                .limit(37)
            for explanation in [try results.explain(), try await results.explainOnServer()] {
                let plan = try #require(explanation.plan)
                for constant in ["Zürich", "4711", "4712", "37"] { #expect(!plan.sql.contains(constant)) }
                for constant in ["'Zürich'", "4711", "4712"] { #expect(plan.parameters.contains(constant)) }
                let placeholders = plan.sql.split(separator: "?", omittingEmptySubsequences: false).dropFirst()
                    .map { Int($0.prefix { $0.isNumber }) }
                #expect(placeholders == Array(1...plan.parameters.count).map(Optional.some))
            }
        }

        @Test(arguments: [
            ("weight == 15", "weight", QueryExplanation.Index.Origin.declared),
            ("weight > 15 SORT(weight DESC) LIMIT(3)", "weight", .declared),
            ("code == 'P3'", "code", .key), ("sender.name == 'Ann'", "sender", .link),
        ])
        func thePlanNamesTheIndexThatServesIt(
            condition: String, property: String, origin: QueryExplanation.Index.Origin
        ) async throws {
            let results = try store.records("Parcel WHERE " + condition)
            // The local plan finds objects in storage order, so only the server's plan shows a sort.
            let explanations = condition.contains("SORT") ? [] : [try results.explain()]
            for explanation in explanations + [try await results.explainOnServer()] {
                let plan = try #require(explanation.plan)
                let index = try #require(
                    plan.indexes.first { $0.className == "Parcel" && $0.properties.first == property },
                    "\(explanation)")
                #expect(index.origin == origin)
                #expect(plan.steps.contains { $0.contains(index.name) })
                #expect(explanation.wantedIndexes.isEmpty)
            }
        }

        @Test func onlyTheServerWantsAnIndex() async throws {
            let results = parcels("city == 'Ulm'")
            #expect(try results.explain().wantedIndexes.isEmpty)
            let wanted = try await results.explainOnServer().wantedIndexes
            #expect(wanted.map(\.properties) == [["city"]] && wanted.map(\.origin) == [.automatic])
        }

        @Test(
            arguments: [
                ("city == 'Ulm' AND weight > 3", .equality, "city", #"city == "Ulm""#),
                ("city IN {'Bonn', 'Ulm'}", .list, "city", #"city IN {"Bonn", "Ulm"}"#),
                ("city BEGINSWITH 'U'", .prefix, "city", #"city BEGINSWITH "U""#),
                ("weight > 3", .range, "weight", "weight > 3"),
                ("city CONTAINS 'l'", .part, "city", #"city CONTAINS "l""#),
                ("city != 'Ulm'", .scan, nil, nil),
            ] as [(String, QueryExplanation.View.Method, String?, String?)])
        func aViewIsFiledUnderItsMostSelectiveCondition(
            text: String, method: QueryExplanation.View.Method, property: String?, condition: String?
        ) async throws {
            for explanation in [try parcels(text).explain(), try await parcels(text).explainOnServer()] {
                #expect(explanation.view.method == method)
                #expect(explanation.view.property == property)
                #expect(explanation.view.condition == condition)
            }
        }

        @Test func aWriteCostsWhatTheQueryMakesOfTheProperty() async throws {
            let results = parcels("weight > 3 AND sender.town == 'Ulm'").sorted(by: "city").limit(5)
            for explanation in [try results.explain(), try await results.explainOnServer()] {
                let writes = explanation.writes
                func effects(_ className: String, _ property: String) -> [QueryExplanation.Effect]? {
                    writes.first { $0.className == className && $0.property == property }?.effects
                }
                #expect(effects("Parcel", "weight") == [.evaluatesPredicate, .sendsValue])
                #expect(effects("Parcel", "city") == [.movesInWindow, .sendsValue])
                #expect(effects("Parcel", "note") == [.sendsValue])
                #expect(effects("Party", "town")?.contains(.findsRoots) == true)
                #expect(writes.prefix(5).allSatisfy { $0.className == "Parcel" })
                #expect(writes.count == 7)
            }
        }

        @Test func `how a total is found and kept is explained, and that LIMIT(0) reads no object`() async throws {
            let first = parcels("weight > 3 SORT(city ASC) LIMIT(5) TOTAL")
            for explanation in [try first.explain(), try await first.explainOnServer()] {
                let counting = try #require(explanation.totalPlan)
                #expect(counting.sql.contains("count(") || counting.sql.contains("COUNT("), "\(counting.sql)")
                #expect(counting.parameters == ["3"] && counting.indexes.map(\.properties) == [["weight"]])
                #expect(explanation.plan != nil && explanation.view.counts == true)
                #expect("\(explanation)".contains("\ntotal    \(counting.sql)"), "\(explanation)")
            }
            let alone = parcels("weight > 3 SORT(city ASC) LIMIT(0) TOTAL")
            for explanation in [try alone.explain(), try await alone.explainOnServer()] {
                #expect(explanation.plan == nil && explanation.totalPlan != nil)
                #expect(explanation.view.windowCapacity == nil && explanation.view.counts == true)
                #expect(!explanation.writes.contains { $0.effects.contains(.movesInWindow) })
                #expect("\(explanation)".contains("plan     none: the query shows no objects"), "\(explanation)")
            }
            let nothing = try await parcels("weight > 3 LIMIT(0)").explainOnServer()
            #expect(nothing.plan == nil && nothing.totalPlan == nil && nothing.view.counts == nil)
            #expect(try parcels("weight > 3 LIMIT(5)").explain().totalPlan == nil)
        }

        @Test func anExcludedPropertyCostsNothing() throws {
            let writes = try store.objects(Parcel.self).excluding("note").explain().writes
            #expect(writes.first { $0.property == "note" }?.effects == [])
            #expect(writes.first { $0.property == "city" }?.effects == [.sendsValue])
        }

        @Test func explainingSubscribesToNothingAndFetchesNothing() async throws {
            let reader = try await server.open([Parcel.self, Party.self])
            try await reader.connected()
            let results = reader.objects(Parcel.self).filter("weight > 3")
            _ = try results.explain()
            _ = try await results.explainOnServer()
            #expect(try await reader.serverSubscriptions().isEmpty)
            let status = try await reader.serverStatus()
            #expect(status.views == 0 && status.subscriptions == 0 && status.pagesSent == 0, "\(status)")
            #expect(try reader.objects(Parcel.self).count() == 0)
        }

        @Test func aStoreExplainsOfflineAndAServerOutOfReachDoesNot() async throws {
            server.cut(store)
            #expect(try parcels("weight > 3").explain().plan != nil)
            // In a pause nothing else waits for the clock.
            try store.session?.pause()
            let count = server.clock.timerCount
            let waiting = Task { try await parcels("weight > 3").explainOnServer(timeout: .seconds(30)) }
            try await server.clock.timers(count + 1)
            server.clock.advance(by: .seconds(30))
            let error = await #expect(throws: SyncError.self) { try await waiting.value }
            #expect(error?.code == .timedOut)
        }

        @Test func whatDoesNotParseIsNotAsked() async throws {
            #expect(throws: QueryError.self) { try parcels("weight >").explain() }
            await #expect(throws: QueryError.self) { try await parcels("weight >").explainOnServer() }
        }
    }
#endif
