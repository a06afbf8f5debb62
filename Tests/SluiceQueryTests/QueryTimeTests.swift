import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceQuery

/// `$now` in conditions: its spelling, where it belongs, what it finds at which time, and when that changes.
@Suite(.ownThread) struct QueryTimeTests {
    @Test(
        "Spellings of one condition have one canonical text",
        arguments: [
            (["bought < $now", "$now > bought", "bought<$now", "(bought < $now)"], "bought < $now"),
            (["bought >= $now - 1h", "$now - 60m <= bought", "bought => $now - 2h + 3600s"], "bought >= $now - 1h"),
            (["bought <= $now + 90m", "bought <= $now + 1h + 30m"], "bought <= $now + 90m"),
            (["bought <= $now + 1d - 24h"], "bought <= $now"),
            (["bought > $now - 36500d"], "bought > $now - 36500d"),
            (["bought < $now + 1500ms"], "bought < $now + 1500ms"),
            (["bought < $now - 1us"], "bought < $now - 1us"),
            (["NOT bought < $now"], "bought >= $now"),
            (
                ["bought BETWEEN {$now - 1d, $now}", "bought <= $now AND bought >= $now - 1d"],
                "bought <= $now AND bought >= $now - 1d"
            ),
            (
                ["bought BETWEEN {2013-01-31T10:00:00Z, $now}"],
                "bought <= $now AND bought >= 2013-01-31T10:00:00Z"
            ),
            (["SUBQUERY(owners, $now, $now.age > 5).@count > 0"], "SUBQUERY(owners, $v1, $v1.age > 5).@count > 0"),
        ])
    func spelling(texts: [String], canonical: String) throws {
        for text in texts { #expect(try Fixtures.canonical(text) == canonical, "\(text)") }
        #expect(try Fixtures.canonical(canonical) == canonical)
    }

    @Test(
        "Where $now does not belong the error says where it does",
        arguments: [
            ("price < $now", QueryError.Code.typeMismatch, "type 'int' (Car.price) and '$now', which is a date"),
            ("bought == $now", .typeMismatch, "operator '==' not supported for '$now', which passes at once"),
            ("bought != $now", .typeMismatch, "compare by < <= > >= or BETWEEN"),
            ("bought IN {$now}", .typeMismatch, "'$now' compares with a date property of an object"),
            ("bought < {$now}", .typeMismatch, "'$now' compares with a date property of an object"),
            ("2013-01-31@10:00:00 < $now", .typeMismatch, "not with a constant"),
            ("$now < $now", .typeMismatch, "not with a constant"),
            ("bought < $now - 5", .typeMismatch, "spans of time are added and subtracted only, as in $now - 90m"),
            ("bought < $now * 2", .typeMismatch, "the units are d, h, m, s, ms and us"),
            ("price < $now - $now", .typeMismatch, "spans of time are added and subtracted only"),
            ("bought < $now.age", .syntax, "found '$now' where it does not belong"),
            ("bought < 1h", .syntax, "found '1h'; a span of time stands behind '$now +' or '$now -' only"),
            ("bought BETWEEN {1h, $now}", .syntax, "a span of time stands behind"),
            ("bought < $now - 36501d", .limitExceeded, "a span of time is at most 36500d"),
            ("bought < $now - 36500d - 1us", .limitExceeded, "at most 36500d before or after $now"),
            ("bought < $now - 99999999999999999999d", .limitExceeded, "a span of time is at most 36500d"),
            ("bought < $nov", .syntax, "found the variable '$nov', which no SUBQUERY around it names"),
            ("bought BETWEEN {NULL, $now}", .typeMismatch, "BETWEEN needs two values; one of these is NULL"),
        ])
    func misplaced(text: String, code: QueryError.Code, message: String) {
        #expect { try Fixtures.query("Car WHERE " + text) } throws: { error in
            guard let error = error as? QueryError else { return false }
            if error.code != code || !error.message.contains(message) { Issue.record("\(text): \(error)") }
            return true
        }
    }

    @Test(arguments: ["SORT($now ASC)", "DISTINCT($now)", "EXCLUDE($now)"])
    func clausesHaveNoTime(clause: String) {
        #expect { try Fixtures.query("Car " + clause) } throws: {
            ($0 as? QueryError)?.message.contains("found '$now' where it does not belong") ?? false
        }
    }

    @Test func whatMayBeReadDoesNotDependOnTheTime() {
        #expect {
            try ReadContext(["Car WHERE bought < $now"], schema: Fixtures.schema)
        } throws: { ($0 as? QueryError)?.message.contains("does not depend on the time") ?? false }
    }

    @Test func theTimeIsNotPartOfTheQuery() throws {
        let query = try Fixtures.query("Car WHERE bought < $now - 1h AND price > 5")
        #expect(query.readsTime && query.constants == [.int(5)])
        #expect(query.form.text == "Car WHERE bought < $now - 1h AND price > $1")
        let other = try Fixtures.query("Car WHERE bought < $now AND price > 5")
        #expect(query.hash != other.hash && query.form.key != other.form.key)
        #expect(try Query.parse(query.canonicalText, schema: Fixtures.schema) == query)
        let bound = query.at(Timestamp(microseconds: 3_600_000_000))
        #expect(!bound.readsTime && bound.hash == query.hash)
        #expect(try !Fixtures.query("Car WHERE price > 5").readsTime)
    }

    /// Each operator at the microsecond before the date, at it, and after it, in the evaluator and in SQL; with the edge,
    /// which says when that changes.
    @Test(arguments: ["<", "<=", ">", ">="], [0, -5, 7] as [Int64])
    func resultsChangeAtTheirEdge(operation: String, offset: Int64) throws {
        let date: Int64 = 1_000
        let sign = offset < 0 ? "-" : "+"
        let query = try Fixtures.query("Car WHERE bought \(operation) $now \(sign) \(abs(offset))us")
        let world = TestWorld(Fixtures.schema)
        try world.insert("Car", .int(1), ["bought": .date(Timestamp(microseconds: date))])
        let edge = try #require(query.form.timeEdges.first)
        #expect(query.form.timeEdges.count == 1)
        let change = edge.passing(of: Timestamp(microseconds: date)).microseconds
        var former: Bool?
        for time in (date - offset - 3)...(date - offset + 3) {
            world.now = Timestamp(microseconds: time)
            let moment = time + offset
            let expected =
                switch operation {
                case "<": date < moment
                case "<=": date <= moment
                case ">": date > moment
                default: date >= moment
                }
            #expect(try world.evaluate(query).isEmpty != expected, "at \(time)")
            let compiler = SQLCompiler(schema: Fixtures.schema, now: world.now)
            #expect(try world.database().integers(compiler.select(query)).isEmpty != expected, "at \(time)")
            if let former { #expect((former != expected) == (time == change), "at \(time)") }
            former = expected
        }
    }

    @Test func edgesAreThoseOfThePropertiesBehindLinksAndInSubqueries() throws {
        let schema = Fixtures.schema
        func edges(_ text: String) throws -> [String] {
            try Fixtures.query(text).form.timeEdges.map { edge in
                let declared = schema[edge.classIndex]
                return "\(declared.name).\(declared.properties[edge.property].name) \(edge.shift)"
            }
        }
        #expect(try edges("Car WHERE bought < $now OR bought > $now - 1us") == ["Car.bought -1"])
        #expect(
            try edges("Person WHERE SUBQUERY(@links.Car.owners, $c, $c.bought >= $now + 1s).@count > 1")
                == ["Car.bought 999999"])
        #expect(try edges("Person WHERE ANY @links.Car.owner.bought <= $now") == ["Car.bought 0"])
    }

    @Test func timesAtTheEndsOfTheCalendarDoNotOverflow() throws {
        let world = TestWorld(Fixtures.schema)
        for (key, time) in [(1, Int64.min), (2, .max)] as [(Int64, Int64)] {
            try world.insert("Car", .int(key), ["bought": .date(Timestamp(microseconds: time))])
        }
        for time in [Int64.min, 0, .max] {
            world.now = Timestamp(microseconds: time)
            for text in ["bought <= $now + 36500d", "bought >= $now - 36500d", "bought < $now - 1us"] {
                let query = try Fixtures.query("Car WHERE " + text)
                let compiler = SQLCompiler(schema: Fixtures.schema, now: world.now)
                let found = try world.keys(world.database().integers(compiler.select(query)), ofClass: query.classIndex)
                #expect(try Set(world.evaluate(query)) == Set(found), "\(text) at \(time)")
                for edge in query.form.timeEdges {
                    _ = try edge.next(after: world.now, schema: Fixtures.schema)
                    _ = try edge.passed(after: world.now, until: edge.passing(of: world.now), schema: Fixtures.schema)
                }
            }
        }
    }
}
