import Sluice

@Model struct Person {
    @PrimaryKey var id: String = ""
}

@Model struct Team {
    @PrimaryKey var name: String = ""
    var members: Links<Person> = []
}

@Model struct Document {
    @PrimaryKey var title: String = ""
    var text = ""
    var team: Link<Team>? = nil
    var author: Link<Person>? = nil
}
