import Sluice
import SluiceModel
import Synchronization
import Testing

#if SLUICE_MACROS
    /// Values that are read from rows of which a query excluded a part.
    @Suite struct ExclusionTests {
        private let store: FakeStore

        init() throws {
            store = try FakeStore([User.self, Dealer.self, Car.self])
        }

        private func partial(_ absent: String...) throws -> Row {
            let binding = try store.binding(of: Car.self, className: "Car")
            var row = try Car(
                vin: "V", name: "Honda", price: 5, imageURLs: ["a"], owners: [User(name: "o")],
                dealer: Link(key: "D"), colour: .green
            ).encoded(for: binding)
            for name in absent {
                let position = binding.classSchema.index(of: name)!
                row.absent.insert(position)
                row.values[position] = binding.classSchema.properties[position].defaultValue
            }
            return row
        }

        private func read(_ row: Row) throws -> Car {
            try Car.decode(row, store.binding(of: Car.self, className: "Car"))
        }

        private func write(_ car: Car) throws -> Row {
            try car.encoded(for: store.binding(of: Car.self, className: "Car"))
        }

        @Test func defaultsStandForWhatIsExcluded() throws {
            let car = try read(partial("name", "views", "imageURLs", "owners", "dealer"))
            #expect(car.name == "Toyota" && car.views == 0 && car.imageURLs == [])
            #expect(car.owners.isEmpty && car.owners.isExcluded)
            #expect(car.dealer?.isExcluded == true && car.dealer?.key == nil)
            #expect(try car.dealer?.fetch() == nil)
            #expect(!car.isPresent(\.name) && !car.isPresent(\.dealer) && car.isPresent(\.price))
            #expect(!car.isPresent(\.label))
        }

        @Test func aPropertyForWhichNothingCanStandFailsByName() throws {
            let error = #expect(throws: ModelError.self) { try read(partial("colour")) }
            #expect(error?.code == .excluded)
            #expect(error?.message.hasPrefix("Car.colour was excluded") == true)
        }

        @Test func writingLeavesTheExcludedAlone() throws {
            let row = try partial("name", "imageURLs", "owners", "dealer")
            let written = try write(read(row))
            #expect(written.absent == row.absent)
            #expect(written.key == .string("V"))
        }

        @Test func anExcludedPropertyThatWasGivenAValueIsWritten() throws {
            var car = try read(partial("name", "owners", "dealer"))
            car.name = "Kia"
            car.owners = []
            car.dealer = nil
            #expect(try write(car).absent.isEmpty)
        }

        @Test func changingElementsOfExcludedLinksIsRefusedAtWriting() throws {
            var car = try read(partial("owners"))
            car.owners.append(User(name: "new"))
            let error = #expect(throws: ModelError.self) { try write(car) }
            #expect(error?.code == .changedWhileExcluded)
            #expect(error?.message.hasPrefix("Car.owners: ") == true)
        }

        @Test func readingTheExcludedIsReportedWhenTheStoreIsVerbose() throws {
            store.isVerbose = true
            let car = try read(partial("name", "owners", "dealer"))
            #expect(
                store.accesses.map(\.message) == [
                    "Car.name is read as its default: the query that brought the object excludes it"
                ])
            _ = car.owners.count
            _ = try car.dealer?.fetch()
            #expect(store.accesses.dropFirst().map(\.property) == ["owners", "dealer"])
            #expect(
                store.accesses.last?.message == "Car.dealer is read, and the query that brought the object excludes it")
        }

        @Test func nothingIsReportedOtherwise() throws {
            _ = try read(partial("name", "owners")).owners.count
            #expect(store.accesses.isEmpty)
        }

        @Test func resolvingAnExcludedLinkBringsItsObjectAndThenItsTarget() async throws {
            let car = try read(partial("dealer"))
            store.insert(Dealer(code: "D", city: "Ulm"), isHere: false)
            try store.insertRow(partial(), className: "Car", isHere: false)
            #expect(try await car.dealer?.resolve().city == "Ulm")
        }
    }
#endif
