import SluiceModel
import SluiceStorage
import Testing

@testable import SluiceQuery

/// The sixteen numbered rules about common misunderstandings: which objects conditions find, in memory and in SQL, and
/// which queries are rejected.
struct NumberedRulesTests {
    @Test(
        "1: a collection without a quantifier means ANY, NONE is NOT ANY, ALL is true of an empty list",
        arguments: [
            ("tags == 'x'", [1]), ("NONE tags == 'x'", [2, 3, 4]), ("ALL tags == 'x'", [2, 3, 4]),
            ("ANY tags == 'x'", [1]), ("NOT ANY tags == 'x'", [2, 3, 4]),
        ] as [(String, [Int64])])
    func rule1AnyUnlessWritten(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "2: ANY, SOME, ALL and NONE need a list in the path",
        arguments: [
            ("ANY owners.age == 40", [1, 3]), ("SOME owners.age == 40", [1, 3]), ("ALL tags == 'x'", [2, 3, 4]),
            ("NONE owner.friends.age == 40", [2, 3, 4]),
        ] as [(String, [Int64])])
    func rule2QuantifiersNeedAList(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "2: ANY, SOME, ALL and NONE need a list in the path; anything else is refused",
        arguments: [
            ("ANY price == 5", 10, "the keypath following 'ANY' must contain a list"),
            ("SOME owner.age == 5", 10, "the keypath following 'ANY' must contain a list"),
            ("ALL name == 'a'", 10, "the keypath following 'ALL' must contain a list"),
            ("NONE price == 5", 10, "the keypath following 'NONE' must contain a list"),
        ] as [(String, Int, String)])
    func rule2QuantifiersNeedAListRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }

    @Test(
        "3: a null link makes what is behind it null",
        arguments: [
            ("owner.name == NULL", [2, 3, 4]), ("owner.name != NULL", [1]), ("owner.@count == 0", [2, 4]),
        ] as [(String, [Int64])])
    func rule3NullLinks(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "4: a list beside one value means ANY of it, and differs from it if one element does",
        arguments: [
            ("price == {10, 20}", [1, 2]), ("price != {10, 20}", [1, 2, 3, 4]), ("NOT price IN {10, 20}", [3, 4]),
        ] as [(String, [Int64])])
    func rule4ListsBesideOneValue(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "5: whole lists compare element by element, length and order included; sets without order",
        arguments: [
            ("tags == {'x', 'y'}", [1]), ("tags == {'y', 'x'}", []), ("tags == {'x'}", []), ("tags == {}", [2, 3, 4]),
            ("tags != {'x', 'y'}", [2, 3, 4]), ("{} == tags", [2, 3, 4]), ("scores == {1, NULL}", [1]),
            ("scores == {NULL, 1, 1}", [1]), ("scores == {1.5}", []), ("owners == {'a', 'b'}", [1]),
            ("owners == {'b'}", [3]), ("owners == {NULL}", [2]), ("owner.friends == {'b'}", [1]),
            ("owner.friends == {}", [2, 3, 4]), ("owners == owner.friends", [4]),
            ("owners != owner.friends", [1, 2, 3]),
        ] as [(String, [Int64])])
    func rule5WholeLists(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "5: whole lists compare element by element, length and order included; sets without order; anything else is refused",
        arguments: [
            ("scores < scores", 17, "a set as a whole ('scores') compares by == and !=")
        ] as [(String, Int, String)])
    func rule5WholeListsRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }

    @Test(
        "6: everything contains, begins and ends with NULL, and only NULL is LIKE NULL",
        arguments: [
            ("note CONTAINS NULL", [1, 2, 3, 4]), ("note LIKE NULL", [3, 4]), ("NULL CONTAINS note", []),
            ("note BEGINSWITH NULL", [1, 2, 3, 4]), ("note ENDSWITH NULL", [1, 2, 3, 4]),
        ] as [(String, [Int64])])
    func rule6SearchesForNull(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "7: in LIKE a question mark is one character and an asterisk any run",
        arguments: [
            ("name LIKE '?pfel'", [1]), ("name LIKE 'b*n*'", [3, 4]), ("name LIKE '?rne'", []),
            ("note LIKE '*'", [1, 2]),
        ] as [(String, [Int64])])
    func rule7Like(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "8: BETWEEN is inclusive, reversed bounds match nothing, lists take it with ALL only",
        arguments: [
            ("price BETWEEN {10, 20}", [1, 2]), ("price BETWEEN {20, 10}", []),
            ("ALL owners.age BETWEEN {35, 45}", [2, 3, 4]), ("price + 1 BETWEEN {11, 21}", [1, 2]),
        ] as [(String, [Int64])])
    func rule8Between(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "8: BETWEEN is inclusive, reversed bounds match nothing, lists take it with ALL only; anything else is refused",
        arguments: [
            ("owners.age BETWEEN {1, 2}", 10, "BETWEEN works on a collection with ALL only")
        ] as [(String, Int, String)])
    func rule8BetweenRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }

    @Test(
        "9: numbers compare whatever their types, and with nothing but numbers",
        arguments: [
            ("cost < price", [1, 2, 3, 4]), ("cost == 1.25", [1]), ("cost < weight", [1, 4]),
            ("cost * 8 == price", [1]), ("cost + ratio == 1.25", [1]), ("weight > cost", [1, 4]),
            ("NOT weight > cost", [2, 3]), ("cost != weight", [1, 2, 3, 4]), ("price == 10.0", [1]),
            ("price < weight", [4]),
        ] as [(String, [Int64])])
    func rule9NumericTypes(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "9: numbers compare whatever their types, and with nothing but numbers; anything else is refused",
        arguments: [
            ("price < 'a'", 18, "unsupported comparison between type 'int' (Car.price) and type 'string'"),
            ("isNew == 1", 19, "type 'bool' (Car.isNew) and type 'int'"),
            ("name == inf", 18, "Infinity not supported for string"),
            ("price < inf", 18, "Infinity not supported for int"),
        ] as [(String, Int, String)])
    func rule9NumericTypesRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }

    @Test(
        "10: NaN equals nothing and differs from everything",
        arguments: [
            ("weight == NaN", []), ("weight != NaN", [1, 2, 3, 4]), ("weight - weight == 0", [1]),
        ] as [(String, [Int64])])
    func rule10NaN(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "11: an integer divided by zero matches nothing",
        arguments: [
            ("price / 0 == 14", []), ("price / 0 != 14", [1, 2, 3, 4]), ("price / 0 == NULL", [1, 2, 3, 4]),
            ("cost / 0 == 1", []), ("price / 0.0 == inf", [1, 2, 3, 4]),
            ("-9223372036854775808 / (price - 11) == 9223372036854775807", []),
        ] as [(String, [Int64])])
    func rule11DivisionByZero(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "12: of no values the sum is 0, and minimum, maximum and average are NULL",
        arguments: [
            ("owners.@sum.age == 0", [2, 4]), ("owners.@min.age == NULL", [2, 4]), ("owners.@max.age == NULL", [2, 4]),
            ("owners.@avg.age == NULL", [2, 4]), ("owners.@sum.age == 70", [1]), ("owners.age.@sum == 70", [1]),
            ("owners.@avg.age == 35", [1]), ("owners.@min.age == 30", [1]), ("owners.@max.age >= 40", [1, 3]),
            ("scores.@sum == 1", [1]), ("scores.@avg == 1", [1]), ("sizes.@max == 2", [1]),
            ("sizes.@sum != sizes.@sum", [1]), ("sizes.@sum == 0", [2, 3, 4]), ("owner.friends.@sum.age == 40", [1]),
            ("owner.friends.@sum.age == 0", [2, 3, 4]), ("owners.@max.age - owners.@min.age == 10", [1]),
            ("owners.@sum.home.doors == 2", [1]), ("price == owners.@sum.age - 60", [1]),
            ("owners.@sum.age > price + 5", [1, 3]), ("ANY owners.friends.@sum.age == 40", [1]),
            ("ALL owners.friends.@sum.age == 0", [2, 3, 4]),
        ] as [(String, [Int64])])
    func rule12AggregatesOfNothing(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "13: @count works on lists, strings, data and links, not on numbers",
        arguments: [
            ("tags.@count == 2", [1]), ("name.@count == 6", [1]), ("data.@size == 3", [1]),
            ("owner.@count == 1", [1, 3]), ("owners.@count + tags.@count == 4", [1]),
        ] as [(String, [Int64])])
    func rule13Count(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "13: @count works on lists, strings, data and links, not on numbers; anything else is refused",
        arguments: [
            ("price.@count == 1", 16, "@count")
        ] as [(String, Int, String)])
    func rule13CountRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }

    @Test(
        "14: LIMIT is positional: SORT, DISTINCT and LIMIT work in written order",
        arguments: [
            ("SORT(price DESC) LIMIT(2)", [4, 3]), ("LIMIT(2) SORT(price DESC)", nil),
            ("SORT(price ASC) LIMIT(2) SORT(price DESC)", [2, 1]),
            ("SORT(price DESC) LIMIT(3) SORT(price ASC) LIMIT(2)", [2, 3]),
            ("SORT(price ASC) DISTINCT(owner.age)", [1, 2, 3]), ("SORT(price DESC) DISTINCT(owner.age)", [4, 3, 1]),
            ("SORT(price DESC) DISTINCT(owner.age) SORT(price ASC)", [1, 3, 4]),
            ("SORT(price ASC) DISTINCT(owner.age) LIMIT(2)", [1, 2]),
            ("SORT(price ASC) LIMIT(2) DISTINCT(owner.age)", [1, 2]),
            ("SORT(price ASC) DISTINCT(owner)", [1, 2, 3]), ("SORT(id ASC) DISTINCT(tags.@count, owner)", [1, 2, 3]),
        ] as [(String, [Int64]?)])
    func rule14WrittenOrder(clauses: String, expected: [Int64]?) throws {
        let world = try CarWorld.make()
        let query = try Query.parse(clauses, className: "Car", schema: Fixtures.schema)
        #expect(try Query.parse(query.canonicalText, schema: Fixtures.schema) == query)
        let found = try world.evaluate(query)
        if let expected { #expect(found == expected.map { ObjectKey.int($0) }) }
        let database = try world.database()
        let compiler = SQLCompiler(schema: Fixtures.schema)
        #expect(try world.keys(database.integers(compiler.select(query)), ofClass: 0) == found)
        #expect(try database.integers(compiler.select(query, .count)) == [Int64(found.count)])
    }

    @Test(
        "15: a link compares with NULL, a list does not",
        arguments: [
            ("owner == NULL", [2, 4]), ("owner != NULL", [1, 3]), ("owner.home == NULL", [2, 3, 4]),
        ] as [(String, [Int64])])
    func rule15LinksAndListsBesideNull(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "15: a link compares with NULL, a list does not; anything else is refused",
        arguments: [
            ("owners == NULL", 20, "cannot compare linklist ('owners') with NULL"),
            ("NULL == owners", 10, "cannot compare linklist ('owners') with NULL"),
        ] as [(String, Int, String)])
    func rule15LinksAndListsBesideNullRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }

    @Test(
        "16: IN needs a list on its right",
        arguments: [
            ("'x' IN tags", [1]), ("owner.name IN owners.name", [1, 3]),
        ] as [(String, [Int64])])
    func rule16InNeedsAList(condition: String, expected: [Int64]) throws {
        try CarWorld.expect(condition, finds: expected)
    }

    @Test(
        "16: IN needs a list on its right; anything else is refused",
        arguments: [
            ("price IN 5.5", 19, "the keypath following 'IN' must contain a list"),
            ("5 IN price", 15, "the keypath following 'IN' must contain a list"),
        ] as [(String, Int, String)])
    func rule16InNeedsAListRefused(condition: String, position: Int, message: String) {
        CarWorld.expect(condition, isRefusedAt: position, saying: message)
    }
}
