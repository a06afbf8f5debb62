import TestSupport
import Testing

#if SLUICE_MACROS
    /// What the compiler says of programs that use the library wrongly, and that it takes those that use it rightly.
    @Suite(.timeLimit(.minutes(10))) struct CompilerMessageTests {
        /// Compiles a program in which a comment `// says: …` ends each line that is wrong. Everything else must compile.
        private func check(_ source: String, _ location: SourceLocation = #_sourceLocation) async throws {
            let expected: [(line: Int, words: String)] = source.split(separator: "\n", omittingEmptySubsequences: false)
                .enumerated().compactMap { index, line in
                    line.firstRange(of: "// says: ").map { (index + 1, String(line[$0.upperBound...])) }
                }
            let messages = try await Compiler.messages(of: source)
            #expect(messages.map(\.line) == expected.map(\.line), "\(messages)", sourceLocation: location)
            for (message, expected) in zip(messages, expected) {
                #expect(message.text.contains(expected.words), "\(message)", sourceLocation: location)
            }
        }

        @Test func aPropertyThatHoldsModelsIsNamedAndTheLinkThatItShouldBe() async throws {
            try await check(
                """
                import Sluice
                enum Status: String, PropertyElement { case new, old }
                struct Point { var x = 0 }
                struct Page: KeyPathModel, Hashable {
                    var text = ""
                    var objectMetadata = ObjectMetadata()
                    static let modelDefinition = ModelDefinition(Page.self) { $0.property("text", \\.text) }
                }
                enum Space {
                    @Model struct Owner: Hashable {
                        var name = ""
                    }
                }
                typealias Owner = Space.Owner
                @Model struct Car {
                    @PrimaryKey var vin: String
                    var owner: Owner?  // says: 'owner' would hold objects of a model, and objects are linked: declare it as Link<Owner>?
                    var seller: Space.Owner  // says: declare it as Link<Space.Owner>?
                    var friends: [Owner]  // says: 'friends' would hold objects of a model, and objects are linked: declare it as Links<Owner>
                    var others: [Owner] = []  // says: declare it as Links<Owner>
                    var pages: Set<Page> = []  // says: declare it as Set<Link<Page>>
                    var byName: [String: Owner] = [:]  // says: declare it as [String: Link<Owner>]
                    var optional: Optional<Owner> = nil  // says: declare it as Link<Owner>?
                    var array: Array<Owner>  // says: declare it as Links<Owner>
                    var made = Owner()  // says: 'made' would hold objects of a model, and objects are linked: declare it as Link<Owner>?
                    var place: Point?  // says: 'place' is of a type that cannot be stored; an enum with raw values can
                    var corner = Point()  // says: 'corner' is of a type that cannot be stored
                    @Ignored var cache = Point()
                    var status: Status = .new
                    @Indexed var before: Status?
                    @Property("all", was: "every") var history: [Status] = [.new]
                    var counts: [String: Status] = [:]
                    var kinds: Set<Status> = [.old]
                    var link: Link<Owner>?
                    var links: Links<Owner> = []
                }
                """)
        }

        @Test func modelsMayBeAsHiddenAsTheLanguageLetsThemBe() async throws {
            try await check(
                """
                import Sluice
                @Model private struct A { var name = "" }
                @Model fileprivate struct B { @PrimaryKey var key: String; private var a: Link<A>? }
                @Model package struct C { package var name = ""; var other = 1 }
                public enum Space {
                    @Model fileprivate struct D { var name = "" }
                    @Model package struct E { package var name = "" }
                    @Model public struct F { public var name = ""; private var x = 1 }
                    @Model private struct G: Model { var name = "" }
                    @Model private struct H { var name = "" }  // says: @Model cannot make H a model from outside, where it is private: write 'struct H: Model', or make it fileprivate
                    @Model private struct I: Hashable { var name = "" }  // says: write 'struct I: Model, Hashable'
                    private enum Inner {
                        @Model struct J { var name = "" }  // says: where it is private: write 'struct J: Model'
                        @Model struct K: Model { var name = "" }
                        static func f() { _ = K(name: "") }
                    }
                    static func f() { _ = (D(), E(), F(), G(name: ""), A(), B(key: "")) }
                }
                extension Space {
                    @Model struct L { private let name: String }
                    @Model fileprivate struct M { private var name = "" }
                }
                public extension Space { @Model struct N { var x = 1 } }
                package extension Space { @Model struct O { var x = 1 } }
                fileprivate extension Space { @Model struct P { var x = 1 } }
                private extension Space { @Model struct Q { var x = 1; @Inverse(\\Q2.to) var from: Backlinks<Q2> } }
                private extension Space { @Model struct Q2 { var to: Link<Q>? } }
                func take(_ models: [any Model.Type]) {}
                func g() { take([A.self, B.self, C.self, Space.D.self, Space.N.self, Space.P.self, Space.Q.self]) }
                """)
        }

        /// The error names the variable; docs/models.md says what to write instead.
        @Test func aWriteTakesAVariableByItsCaptureList() async throws {
            try await check(
                """
                import Sluice
                @Model struct Flight { @PrimaryKey var id: Int; var delay = 0 }
                @MainActor func change(_ store: Store) async throws {
                    var flight = Flight(id: 1)
                    flight.delay = 5
                    try await store.write { try $0.upsert(flight) }  // says: reference to captured var 'flight' in concurrently-executing code
                    try await store.write { [flight] in try $0.upsert(flight) }
                    let copy = flight
                    let receipt = try await store.write { tx in
                        try tx.upsert(copy)
                        return tx.receipt
                    }
                    try await store.uploaded(receipt)
                }
                """)
        }

        @Test func comparisonsThatCannotBeSaySoAndConstantsMayComeFirst() async throws {
            try await check(
                """
                import Foundation
                import Sluice
                enum Status: String, PropertyElement { case new, old }
                @Model struct Owner { var name = "" }
                @Model struct Car {
                    @PrimaryKey var vin: String
                    var name = ""
                    var price = 0.0
                    var year: Int?
                    var doors: Int8 = 4
                    var owner: Link<Owner>?
                    var tags: [String] = []
                    var status: Status = .new
                    var isNew = true
                    var made: Date = .distantPast
                }
                func wrong(_ cars: Results<Car>) {
                    _ = cars.where { $0.name == 5 }  // says: '==' is unavailable: the property does not compare with this type
                    _ = cars.where { $0.name < 5 && $0.price > 3 }  // says: '<' is unavailable: the property does not compare with this type
                    _ = cars.where { $0.price > "x" }  // says: '>' is unavailable
                    _ = cars.where { $0.owner == "x" }  // says: '==' is unavailable
                    _ = cars.where { 5 != $0.name }  // says: '!=' is unavailable: the property does not compare with this type
                    _ = cars.where { "x" <= $0.price }  // says: '<=' is unavailable
                    _ = cars.where { $0.name == $0.price }  // says: '==' is unavailable: the two properties are of types that do not compare
                    _ = cars.where { $0.price > 3 && $0.name == 5 && $0.year == 3 && $0.vin != "a" }  // says: does not compare with this type
                }
                func right(_ cars: Results<Car>, _ owner: Owner, _ number: Int?) {
                    _ = cars.where { 5 < $0.price && 5 >= $0.doors && 2.5 <= $0.year && nil != $0.year }
                    _ = cars.where { 5 > $0.price || 5 <= $0.doors || 2.5 == $0.year || nil == $0.owner }
                    _ = cars.where { .new == $0.status && owner == $0.owner && owner != $0.owner && true == $0.isNew }
                    _ = cars.where { .now > $0.made && "a" < $0.name && number == $0.year && number == $0.price }
                    _ = cars.where { 5 * $0.price < 4 + $0.doors && 3 < $0.price * 2 && ["a"] == $0.tags }
                    _ = cars.where { 1 < $0.price && 2 < $0.price && 3 < $0.price && 4 > $0.price && 5 != $0.price }
                }
                """)
        }

        @Test func whatIsInterpolatedInAQueryIsAValueOrWarnedOf() async throws {
            try await check(
                """
                import Sluice
                struct Other {}
                @Model struct Car { var name = "" }
                func f(_ cars: Results<Car>, _ name: String, _ car: Car, _ text: String) {
                    _ = cars.filter("name == \\(name) AND name IN \\([name]) AND self == \\(car)")
                    _ = cars.filter("name == $0", name)
                    _ = cars.filter(text)
                    _ = cars.filter("name == \\(Other())")  // says: warning: 'appendInterpolation' is deprecated: this is no value of a query
                    _ = cars.filter("name == \\(5 as Any)")  // says: this is no value of a query
                }
                """)
        }

        @Test func resultsThatNobodyNeedsAreNotWarnedOf() async throws {
            try await check(
                """
                import Sluice
                @Model struct Car { @PrimaryKey var vin: String; var price = 0.0; var seats: Int? }
                func f(_ store: Store) async throws {
                    var car = Car(vin: "a")
                    car.price = 1
                    try await store.write { [car] in try $0.upsert(car) }
                    try await store.write { try $0.update(all: $0.objects(Car.self)) { $0.price = 1 } }
                    try await store.write { try $0.delete(all: $0.objects(Car.self)) }
                    try await store.write { try $0.update(Car.self, key: "a") { $0.price = 1 } }
                    try await store.write { [car] in try $0.increment(car, \\.seats, by: 1) }
                    try await store.objects(Car.self).synced()
                    try await store.purgeUnsubscribed()
                }
                """)
        }
    }
#endif
