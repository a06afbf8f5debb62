import Testing

/// `@Model(.local)`.
@Suite struct LocalModelTests {
    @Test func aLocalModelSaysSoAndKeepsItsName() {
        let expansion = MacroExpansion("@Model(.local) public struct Draft {\n    var text = \"\"\n}")
        #expect(expansion.messages.isEmpty)
        #expect(expansion.source.contains("public typealias Syncing = Sluice.LocalClass"))
        #expect(expansion.source.contains("\"Draft\""))
    }

    @Test func aLocalModelMayHaveAnotherName() {
        let expansion = MacroExpansion("@Model(\"Sketch\", .local) struct Draft {\n    var text = \"\"\n}")
        #expect(expansion.messages.isEmpty)
        #expect(expansion.source.contains("typealias Syncing = Sluice.LocalClass"))
        #expect(expansion.source.contains("\"Sketch\""))
    }

    @Test func aModelThatSyncsSaysNothing() {
        for attribute in ["@Model", "@Model(.synced)", "@Model(\"Sketch\")", "@Model(\"Sketch\", .synced)"] {
            let expansion = MacroExpansion("\(attribute) struct Draft {\n    var text = \"\"\n}")
            #expect(expansion.messages.isEmpty && !expansion.source.contains("Syncing"), "\(attribute)")
        }
    }

    @Test func whetherItSyncsMustBeWritten() {
        let expansion = MacroExpansion("@Model(\"Sketch\", choice) struct Draft {\n    var text = \"\"\n}")
        #expect(
            expansion.messages.contains {
                $0.hasSuffix("whether the class syncs must be written here: .local or .synced")
            }, "\(expansion.messages)")
    }

    @Test func theCompilerIsAskedAboutEachLink() {
        let expansion = MacroExpansion(
            """
            @Model struct Car {
                var owner: Link<Person>?
                var garages: Links<Garage> = []
                var spares: [String: Link<Part>] = [:]
                var name = ""
            }
            """)
        for property in ["owner", "garages", "spares"] {
            #expect(expansion.source.contains("model.checkSide(\\.\(property))"))
        }
        #expect(!expansion.source.contains("model.checkSide(\\.name)"))
    }
}
