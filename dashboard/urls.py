"""The pages of the desk."""

app_name = "dashboard"
urlpatterns: list = []
