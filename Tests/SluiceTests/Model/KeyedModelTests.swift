import Sluice
import SluiceModel
import Testing

@Suite struct KeyedModelTests {
    @Test func aTableModelIsNamedByItsPrimaryKey() throws {
        let plane = ManualPlane(tailnum: "N1", seats: 3)
        #expect(plane.objectKey == .string("N1"))
        #expect(plane.objectID == Identity(className: "Plane", key: .string("N1")).objectID)
        let binding = try ElementBinding(
            ManualPlane.self, className: "Plane", schema: Schema([ManualPlane.modelDefinition.classSchema]))
        let row = try plane.encoded(for: binding)
        #expect(row.key == .string("N1"))
        #expect(try ManualPlane.decode(row, binding).seats == 3)
    }

    @Test func aClassThatTheStoreLacksIsNamed() throws {
        let error = #expect(throws: ModelError.self) {
            try ElementBinding(ManualPlane.self, className: "Plane", schema: Schema([]))
        }
        #expect(
            error?.message == "the store has no class 'Plane'; open it with the class's model, or declare the class")
        let missing = #expect(throws: ModelError.self) {
            try ElementBinding(
                ManualPlane.self, className: "Plane",
                schema: Schema([
                    ClassSchema("Plane", primaryKey: "tailnum", properties: [Property("tailnum", .scalar(.string))])
                ]))
        }
        #expect(
            missing?.message
                == "the store's class 'Plane' has no property 'seats'; open the store with a model that has it")
    }

    #if SLUICE_MACROS
        @Test func macroAndTableDeclareTheSameSchema() throws {
            #expect(try MacroPlane.modelDefinition.classSchema == ManualPlane.modelDefinition.classSchema)
            #expect(try Car.modelDefinition.classSchema.primaryKey == "vin")
            #expect(MacroPlane(tailnum: "N1").objectID == ManualPlane(tailnum: "N1").objectID)
        }

        @Test func theMemberwiseInitializerHasTheDeclaredDefaults() {
            let car = Car(vin: "V", price: 9_000, colour: .red)
            #expect(car.name == "Toyota" && car.price == 9_000 && car.imageURLs.isEmpty && car.dealer == nil)
            #expect(car.cached == 7)
            #expect(Car.modelDefinition.propertyName(at: \.price) == "price")
            #expect(Car.modelDefinition.propertyName(at: \.label) == nil)
        }

        @Test func aKeylessValueHasItsIDBeforeItIsStoredAndKeepsIt() {
            let first = User(name: "Ada")
            let second = User(name: "Ada")
            var copy = first
            copy.name = "Grace"
            #expect(first.objectID != second.objectID)
            #expect(copy.objectID == first.objectID)
        }

        @Test func aPropertyOfNoDefaultIsAZeroInTheSchemaAndInitializedByTheUser() throws {
            #expect(try Car.modelDefinition.classSchema.property(named: "colour")?.defaultValue == .string(""))
            #expect(try Car.modelDefinition.classSchema.properties.map(\.name).contains("cached") == false)
        }
    #endif
}
